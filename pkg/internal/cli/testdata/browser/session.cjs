'use strict'
// The session of the console: one click begins it, once; servers at other ports of this machine receive no cookie.
const assert = require('node:assert/strict')
const http = require('node:http')
const { open, check } = require('./browser.cjs')

open(async (page, { url }) => {
  const received = []
  const other = http.createServer((request, response) => {
    received.push(request.headers.cookie)
    response.setHeader('Content-Type', 'text/html')
    response.end(`<!DOCTYPE html><html lang="en"><title>Another server</title><a href="${url.replaceAll('&', '&amp;')}">Console</a></html>`)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address()
  try {
    await page.goto(new URL('/', url).href)
    await page.getByRole('heading', { name: 'Waitless' }).waitFor()
    await check(page, 'console-key')
    await page.getByLabel('Key').fill('wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('This is not the key').waitFor()

    await page.goto(`http://localhost:${port}/`)
    await page.getByRole('link', { name: 'Console' }).click()
    await page.getByRole('heading', { name: 'Executions' }).waitFor()
    const own = new URL(page.url())
    assert.match(own.hostname, /^[a-z2-7]{26}\.localhost$/)
    assert.equal(own.search, '', 'the key is not in the address')
    const [cookie] = await page.context().cookies(own.href)
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict', JSON.stringify(cookie))
    assert.notEqual(cookie.value, new URL(url).searchParams.get('key'))

    received.length = 0
    for (const host of ['127.0.0.1', 'localhost', 'other.localhost']) await page.goto(`http://${host}:${port}/`)
    const seen = received.filter((one) => one !== undefined)
    assert.deepEqual(seen, [], 'servers at other ports receive no cookie')

    await page.goto(url)
    await page.getByRole('heading', { name: 'Executions' }).waitFor()
    const stranger = await (await page.context().browser().newContext()).newPage()
    await stranger.goto(url)
    await stranger.getByText('This address was used').waitFor()
    await check(stranger, 'console-key-used')
  } finally {
    other.close()
    other.closeAllConnections()
  }
})
