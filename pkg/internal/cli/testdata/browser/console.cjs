'use strict'
// The console: write a flow; start, answer and stop executions; by keyboard where a person starts and answers.
const assert = require('node:assert/strict')
const { open, check, focus } = require('./browser.cjs')

open(async (page, { url }) => {
  await page.goto(url)
  await page.getByRole('heading', { name: 'Executions' }).waitFor()
  const own = page.url()
  const at = (path) => new URL(path, own).href
  assert.match(own, /localhost:\d+\/executions$/, 'the key is not in the address')
  for (const section of ['executions', 'waits', 'job-events', 'flows']) {
    await page.goto(at('/' + section))
    await check(page, section + '-empty')
  }
  await writeFlow(page, at)

  await startByKeyboard(page, at)
  const execution = page.url()
  await waits(page, 'execution-waiting')
  await page.reload()
  await waits(page, 'execution-reloaded')
  await barsGrow(page)
  await answerByItsPage(page)
  await page.goto(execution)
  await isDone(page)
  await check(page, 'execution-succeeded')
  assert.match(await page.locator('#output').textContent(), /approved/)

  await page.getByRole('link', { name: 'Cost' }).click()
  await page.getByRole('heading', { name: 'Cost of approval/' }).waitFor()
  await check(page, 'cost')
  await failInTheConsole(page, at)
  await redrive(page)
  await stop(page, at)
  for (const section of ['executions', 'flows']) {
    await page.goto(at('/' + section))
    await check(page, section)
  }
})

const definition = `version: v1
type: flow
steps:
  - type: pass
    name: Prepare
  - type: task
    name: Ask
    resourceArn: acs:fc:::services/fnf-demo/functions/echo
    pattern: waitForCallback
    timeoutSecond: 600
    outputMappings:
      - target: status
        source: $local.status
`

// writeFlow stores a flow: the editor shows each problem at its place, and keeps what was typed.
async function writeFlow (page, at) {
  await page.goto(at('/new-flow'))
  await check(page, 'flow-new')
  const text = page.getByLabel('FDL, in YAML')
  const store = page.getByRole('button', { name: 'Store' })
  await page.getByLabel('Name').fill('approval')
  await text.fill(definition)
  await store.click()
  await page.getByText('The definition is not valid').waitFor()
  await check(page, 'flow-invalid')
  await page.getByRole('link', { name: '10:5' }).click()
  assert.equal(await text.evaluate((t) => t.value.slice(t.selectionStart, t.selectionEnd)), '    timeoutSecond: 600')
  await text.fill(definition.replace('timeoutSecond', 'timeoutSeconds'))
  await store.click()
  await page.getByRole('heading', { name: 'Flow approval' }).waitFor()
  await page.getByRole('img', { name: 'approval' }).waitFor()
  await check(page, 'flow')
}

// press moves the focus to an element by Tab, and presses a key there.
async function press (page, element, key = 'Enter') {
  await focus(page, element)
  await page.keyboard.press(key)
}

// startByKeyboard starts an execution. What is wrong with its input is said at its place.
async function startByKeyboard (page, at) {
  await page.goto(at('/executions'))
  await press(page, page.getByRole('navigation').getByRole('link', { name: 'Start' }))
  await page.waitForURL('**/start')
  await check(page, 'start')
  await focus(page, page.getByLabel('Flow'))
  await page.keyboard.type('approval')
  await focus(page, page.getByLabel('Name'))
  await page.keyboard.type('by-keyboard')
  const input = page.getByLabel('Input, a JSON object')
  await focus(page, input)
  await page.keyboard.press('Control+a')
  await page.keyboard.type('{"amount": 40')
  const start = page.getByRole('button', { name: 'Start' })
  await press(page, start)
  await page.locator('#input-error').waitFor()
  await check(page, 'start-invalid')
  await focus(page, input)
  await page.keyboard.press('Control+End')
  await page.keyboard.type('}')
  await press(page, start)
  await page.waitForURL('**/executions/approval/by-keyboard')
}

const box = (page, step) => page.locator('svg.flow g').filter({ hasText: step }).first()

// openWait is the link to the page of the wait of step Ask.
const openWait = (page) => page.locator('ul.waits').getByRole('link', { name: 'Ask' })

// waits waits until the page of an execution shows that step Ask waits.
async function waits (page, name) {
  await page.locator('svg.flow g.waiting').filter({ hasText: 'Ask' }).waitFor()
  await openWait(page).waitFor()
  await check(page, name)
}

// barsGrow waits until the time axis has gone on twice: the bar of a step that waits still ends at the end of the axis, and
// that of a step that has ended takes less of it.
async function barsGrow (page) {
  await page.waitForFunction(() => {
    const axis = document.querySelector('table.time svg').viewBox.baseVal.width
    globalThis.axes = [...new Set([...(globalThis.axes || []), axis])]
    return globalThis.axes.length === 3
  })
  const bars = await page.locator('table.time rect').evaluateAll((rects) => rects.map((rect) => {
    const { left, right } = rect.ownerSVGElement.getBoundingClientRect()
    const bar = rect.getBoundingClientRect()
    return { isOpen: 'open' in rect.dataset, isAtEnd: Math.abs(bar.right - right) < 1, part: bar.width / (right - left) }
  }))
  assert.equal(bars.filter((bar) => bar.isOpen).length, 1, 'one step waits')
  for (const bar of bars) assert.equal(bar.isAtEnd, bar.isOpen, JSON.stringify(bars))
  for (const bar of bars) assert.equal(bar.part > 0.5, bar.isOpen, JSON.stringify(bars))
}

// isDone waits until the page, without being loaded again, shows that the execution succeeded.
async function isDone (page) {
  await page.locator('.facts .Succeeded').waitFor()
  await page.locator('svg.flow g.succeeded').filter({ hasText: 'Ask' }).waitFor()
}

// answerByItsPage opens the callback page of the wait, and reports a success there. The page of the execution follows.
async function answerByItsPage (page) {
  const execution = await page.context().newPage()
  await execution.goto(page.url())
  await execution.evaluate(() => { globalThis.isOpenSince = 'the start' })
  await press(page, openWait(page))
  await page.getByRole('heading', { name: 'Ask waits for a callback' }).waitFor()
  await check(page, 'wait')
  await press(page, page.getByRole('button', { name: 'Show the URL and the curl command' }))
  await page.getByLabel('URL', { exact: true }).waitFor()
  await check(page, 'wait-url')
  await page.goto(await page.getByLabel('URL', { exact: true }).inputValue())
  await focus(page, page.getByLabel('Output, as JSON'))
  await page.keyboard.press('Control+a')
  await page.keyboard.type('{"status": "approved"}')
  await press(page, page.getByRole('button', { name: 'Report success' }))
  await page.getByText('A success was reported').waitFor()
  await isDone(execution)
  assert.equal(await execution.evaluate(() => globalThis.isOpenSince), 'the start', 'the page was not loaded again')
  await execution.close()
}

// begin starts an execution by the form.
async function begin (page, at, name) {
  await page.goto(at('/start?flow=approval'))
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Start' }).click()
  await page.locator('svg.flow g.waiting').waitFor()
}

async function failInTheConsole (page, at) {
  await begin(page, at, 'a-name-that-is-as-long-as-names-may-be-' + 'x'.repeat(80))
  await page.goto(at('/waits'))
  await check(page, 'waits')
  await page.getByRole('link', { name: 'Ask' }).click()
  await page.getByLabel('Error').fill('Rejected')
  await page.getByLabel('Cause').fill('too much <b>money</b>')
  await page.getByRole('button', { name: 'Fail' }).click()
  await page.locator('.facts .Failed').waitFor()
  await check(page, 'execution-failed')
  await whyDidItFail(page)
}

// whyDidItFail opens the panel of the step that failed: by its box, and by keyboard from its row.
async function whyDidItFail (page) {
  await page.locator('svg.flow a').filter({ hasText: 'Ask' }).click()
  const panel = page.locator('section.step')
  await panel.getByText('too much <b>money</b>').first().waitFor()
  await check(page, 'step-failed')
  await panel.getByRole('button', { name: 'Copy step-input' }).waitFor()
  await panel.getByRole('link', { name: 'Close' }).click()
  await panel.waitFor({ state: 'detached' })
  await press(page, page.locator('table.time').getByRole('link', { name: 'Ask' }))
  await panel.getByRole('heading', { name: 'Ask' }).waitFor()
}

// redrive starts an execution that goes on from the step that failed.
async function redrive (page) {
  await page.getByRole('link', { name: 'Redrive' }).click()
  await page.waitForURL('**/redrive')
  await check(page, 'redrive')
  await page.getByLabel('Name of the new execution').fill('redriven')
  await page.getByRole('button', { name: 'Redrive' }).click()
  await page.waitForURL('**/executions/approval/redriven')
  await page.getByText('Redriven from').waitFor()
  await waits(page, 'execution-redriven')
}

async function stop (page, at) {
  await begin(page, at, 'to-stop')
  await page.getByRole('link', { name: 'Stop' }).click()
  await page.waitForURL('**/stop')
  await check(page, 'stop')
  await page.getByRole('button', { name: 'Stop it' }).click()
  await page.locator('.facts .Stopped').waitFor()
  await check(page, 'execution-stopped')
}
