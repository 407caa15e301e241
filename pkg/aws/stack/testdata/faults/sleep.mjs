// Takes longer than a test needs to kill who calls it.
export const handler = async () => {
  await new Promise((done) => setTimeout(done, 20_000));
  return { slept: true };
};
