import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { oncueApp, silentLogger } from '@oncue/api'
import { prepareJob } from '@oncue/core'
import { openStore } from '@oncue/db'
import { createDatabase } from '@oncue/db/testing'
import { expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from './browser.ts'

const basePath = '/admin/jobs'

test('mounted below a path, the app loads its parts, opens links and stays there', async () => {
  const database = await createDatabase('sqlite')
  const store = await openStore(database.url)
  const [id = ''] = await store.enqueue([prepareJob('mail_digest', { userId: '1' })])
  await store.close()
  const oncue = oncueApp({
    ...{ basePath, url: database.url, background: false, log: silentLogger },
    authenticate: () => ({ id: 'ada', name: 'Ada', role: 'admin' }),
  })
  const server = createServer((request, response) => {
    if (request.url?.startsWith(basePath)) void oncue.node(request, response)
    else response.writeHead(404).end('not below the path')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const browser = await launchBrowser()
  onTestFinished(async () => {
    await browser.close()
    await oncue.close()
    server.closeAllConnections()
    server.close()
    await database.drop()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const page = await browser.newPage()
  const failed: string[] = []
  page.on('response', (response) => {
    if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`)
  })

  await page.goto(`${origin}${basePath}/jobs/${id}`)
  await page.getByText('mail_digest').first().waitFor()
  expect(new URL(page.url()).pathname).toBe(`${basePath}/jobs/${id}`)

  await page.goto(`${origin}${basePath}/settings`)
  await page.getByText('Signed in as').waitFor()
  expect(await page.getByText('Ada', { exact: true }).count()).toBe(1)
  expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)

  await page.goto(`${origin}${basePath}`)
  await page.getByRole('link', { name: 'Jobs' }).first().click()
  await page.waitForURL(`${origin}${basePath}/jobs**`)
  await page.getByText('mail_digest').first().waitFor()
  expect(failed).toEqual([])
})
