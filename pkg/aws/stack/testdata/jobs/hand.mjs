// Hands the URL of a step to whoever decides.
export const handler = async ({ reviewer, callback_url }) => {
  const handed = await fetch(reviewer, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ question: "Is it well?", callback_url }),
  });
  return { handed: handed.status };
};
