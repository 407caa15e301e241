'use strict'
// The end of a job that a step waits for is sent in the console, and replayed.
const { open, check } = require('./browser.cjs')

open(async (page, { url, event }) => {
  await page.goto(url)
  await page.getByRole('heading', { name: 'Executions' }).waitFor()
  const own = page.url()
  const at = (path) => new URL(path, own).href
  await page.goto(at('/job-events'))
  const send = page.getByRole('button', { name: 'Send' })
  const text = page.getByLabel('Event, as EventBridge delivers it')
  for (const [sent, result] of [['{', null], ['{"source": "none"}', 'failed'], [event, 'matched']]) {
    await text.fill(sent)
    await send.click()
    await (result ? page.locator(`td .${result}`) : page.locator('#event-error')).first().waitFor()
  }
  await check(page, 'job-events-sent')
  await page.getByRole('link', { name: 'dms-callback/waiting' }).first().click()
  await page.locator('.facts .Succeeded').waitFor()
  await page.goto(at('/job-events'))
  await page.getByRole('button', { name: /Replay event/ }).first().click()
  await page.locator('td .parked').first().waitFor() // the wait has ended
  await check(page, 'job-events')
})
