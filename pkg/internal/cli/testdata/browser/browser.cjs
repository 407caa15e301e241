'use strict'
// Headless Chromium, and what holds for every page that Waitless serves.
const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const { chromium } = require('playwright-core')
const axe = require('axe-core')

const looks = [
  { width: 1440, height: 900, colorScheme: 'light' },
  { width: 390, height: 844, colorScheme: 'dark' },
  { width: 390, height: 844, colorScheme: 'light' },
  { width: 1440, height: 900, colorScheme: 'dark' },
]

const problems = []

// open runs a test with a page, and with what the Go test wrote to standard input. The test fails if [check] found
// something, or after a message of an error on the console, an exception of a script, or a request without a response.
exports.open = async (test) => {
  const input = JSON.parse(fs.readFileSync(0, 'utf8'))
  const browser = await chromium.launch({ executablePath: input.browser })
  try {
    const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC' })
    context.setDefaultTimeout(20_000)
    context.on('page', record)
    await test(await context.newPage(), input)
  } finally {
    await browser.close()
    for (const problem of problems) console.error(problem)
  }
  process.exitCode = problems.length > 0 ? 1 : 0
}

// record collects what a browser reports of a page. A response with an error is the page's own business.
function record (page) {
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.stack))
  page.on('requestfailed', (request) => {
    const reason = request.failure().errorText
    if (reason !== 'net::ERR_ABORTED') problems.push(`${request.url()}: ${reason}`) // a stream that ends with its page
  })
}

// check checks a page, wide and narrow, light and dark: axe finds no violation, and nothing has to be scrolled sideways.
// With a folder for screenshots it takes them.
exports.check = async (page, name, screenshots = process.env.SCREENSHOTS) => {
  await page.waitForLoadState() // with its style sheet
  for (const look of screenshots ? looks : looks.slice(0, 2)) {
    await page.setViewportSize({ width: look.width, height: look.height })
    await page.emulateMedia({ colorScheme: look.colorScheme })
    const at = `${name}-${look.width}-${look.colorScheme}`
    if (screenshots) await page.screenshot({ path: path.join(screenshots, at + '.png'), fullPage: true })
    for (const violation of await violations(page)) problems.push(`${at}: ${violation}`)
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    if (width > look.width) problems.push(`${at}: the page is ${width} px wide`)
  }
}

// violations evaluates axe in the page, whose policy forbids scripts of others.
async function violations (page) {
  await page.evaluate(axe.source)
  const found = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target + ' ' + n.failureSummary).join('; ')}`)
}

// focus presses Tab until the element has the focus, which shows an outline.
exports.focus = async (page, element) => {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    if (await element.evaluate((e) => e === document.activeElement)) {
      const outline = await element.evaluate((e) => globalThis.getComputedStyle(e).outlineStyle)
      assert.notEqual(outline, 'none', `the focus is not visible at ${element}`)
      return
    }
  }
  assert.fail(`Tab does not reach ${element}`)
}
