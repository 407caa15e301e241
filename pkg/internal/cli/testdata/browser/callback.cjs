'use strict'
// The page of a callback URL, used by keyboard alone.
const assert = require('node:assert/strict')
const { open, check, focus } = require('./browser.cjs')

open(async (page, { url }) => {
  await page.goto(url)
  await check(page, 'callback')

  const output = page.getByLabel('Output, as JSON')
  await focus(page, output)
  await page.keyboard.press('Control+a')
  await page.keyboard.type('{"status": ')
  const report = page.getByRole('button', { name: 'Report success' })
  await focus(page, report)
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await check(page, 'callback-invalid')
  assert.equal(await output.inputValue(), '{"status": ', 'what was typed is kept')

  await focus(page, output)
  await page.keyboard.press('End')
  await page.keyboard.type('"approved"}')
  await focus(page, report)
  await page.keyboard.press('Enter')
  await page.getByText('A success was reported').waitFor()
  await check(page, 'callback-recorded')

  await page.goto(url)
  await page.getByText('A success was reported').waitFor()
  await page.goto(url.replace(/.$/, (end) => (end === 'A' ? 'Q' : 'A')))
  await check(page, 'callback-unknown')
})
