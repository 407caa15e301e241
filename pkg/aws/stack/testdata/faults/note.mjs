// Tells the test of a call.
export const handler = async (input) => {
  await fetch(input.to, { method: "POST", body: JSON.stringify(input) });
  return {};
};
