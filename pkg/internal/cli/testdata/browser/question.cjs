'use strict'
// The page of a callback that asks a question, used by keyboard alone.
const assert = require('node:assert/strict')
const { open, check, focus } = require('./browser.cjs')

open(async (page, { url, console }) => {
  await page.goto(url)
  await page.getByText('Ship order A-17?').waitFor()
  for (const text of ['orders', 'Approve', 'Deadline']) {
    assert.ok(await page.locator('dl').getByText(text, { exact: true }).isVisible(), text)
  }
  await check(page, 'question')

  await focus(page, page.getByText('Report something else'))
  await page.keyboard.press('Enter')
  await page.getByLabel('Output, as JSON').waitFor()
  await check(page, 'question-else')

  await page.goto(url)
  await focus(page, page.getByRole('button', { name: 'Reject' }))
  await page.keyboard.press('Enter')
  await page.getByText('You chose “Reject”').waitFor()
  await check(page, 'question-recorded')

  await page.goto(url)
  await page.getByText('“Reject” was chosen').waitFor()

  await page.goto(console)
  await page.getByRole('link', { name: 'orders/asked' }).click()
  await page.locator('.facts .Failed').waitFor()
  await check(page, 'execution-forks')
})
