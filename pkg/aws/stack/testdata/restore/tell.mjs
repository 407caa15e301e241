// Reports each of its calls to the test.
export const handler = async ({ url, ...call }) => {
  await fetch(url, { method: "POST", body: JSON.stringify(call) });
  return {};
};
