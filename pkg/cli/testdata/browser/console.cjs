'use strict'
// The pages of the console: what each shows, by keyboard where a person starts and answers.
const assert = require('node:assert/strict')
const { open, check } = require('./browser.cjs')

open(async (page, { url }) => {
  const at = (path) => new URL(path, url).href
  await page.goto(url)
  assert.equal(page.url(), at('/executions'), 'the key is not in the address')
  await check(page, 'executions-empty')

  await page.goto(at('/flows'))
  await check(page, 'flows')
  await writeFlow(page, at)

  await page.goto(at('/start'))
  await check(page, 'start')
})

// writeFlow stores a flow: the editor shows each problem at its place, and keeps what was typed.
async function writeFlow (page, at) {
  await page.goto(at('/new-flow'))
  await check(page, 'flow-new')
  const text = page.getByLabel('FDL, in YAML')
  const store = page.getByRole('button', { name: 'Store' })
  await page.getByLabel('Name').fill('written')
  await text.fill('version: v1\ntype: flow\nsteps:\n  - type: pass\n    name: One\n  - type: wait\n    name: Two\n    duratoin: 5\n')
  await store.click()
  await page.getByText('The definition is not valid').waitFor()
  await check(page, 'flow-invalid')
  const place = page.getByRole('link', { name: '8:5' })
  await place.click()
  assert.equal(await text.evaluate((t) => t.value.slice(t.selectionStart, t.selectionEnd)), '    duratoin: 5')
  await text.fill((await text.inputValue()).replace('duratoin', 'duration'))
  await store.click()
  await page.getByRole('heading', { name: 'Flow written' }).waitFor()
  await page.getByRole('img', { name: 'written' }).waitFor()
  await check(page, 'flow')
}
