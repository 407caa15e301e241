// Does what calls.py does, with the vendor's client for Node.js.
const readline = require('node:readline');
const Client = require('@alicloud/fnf-2019-03-15');

const client = new Client({
  endpoint: `http://${process.env.ENDPOINT}`, accessKeyId: process.env.AK_ID, accessKeySecret: process.env.AK_SECRET,
  opts: {timeout: 60000}, // 3 s by default, which are less than a wait for the end of an execution
});

async function main() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [action, parameters] = JSON.parse(line);
    const method = action[0].toLowerCase() + action.slice(1);
    try {
      console.log(JSON.stringify(await client[method](parameters, {timeout: 60000})));
    } catch (error) {
      if (!error.code || !error.entry) throw error;
      console.log(error.code, error.entry.response.statusCode);
    }
  }
}

main();
