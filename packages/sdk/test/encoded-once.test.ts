import { defineJobs, job } from '@oncue/core'
import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { createClient } from '../src/index.ts'
import { DIALECTS, startWorld } from './harness.ts'

const SECRET = 'the text by which the payload is known'
const jobs = defineJobs({ counted: job({ input: z.object({ list: z.array(z.string()) }) }) })
const payload = { list: [SECRET] }

/** How often JSON that contains the payload was written or parsed. */
function countJson() {
  const counts = { stringify: 0, parse: 0 }
  const { stringify, parse } = JSON
  const writing = vi.spyOn(JSON, 'stringify').mockImplementation(((value: unknown, ...rest: []) => {
    if (holdsPayload(value)) counts.stringify++
    return stringify(value, ...rest)
  }) as typeof JSON.stringify)
  const reading = vi.spyOn(JSON, 'parse').mockImplementation((text, ...rest) => {
    if (String(text).includes(SECRET)) counts.parse++
    return parse(text, ...rest)
  })
  onTestFinished(() => {
    writing.mockRestore()
    reading.mockRestore()
  })
  return () => {
    const since = { ...counts }
    counts.stringify = 0
    counts.parse = 0
    return since
  }
}

function holdsPayload(value: unknown): boolean {
  if (typeof value === 'string') return value.includes(SECRET)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsPayload)
}

it.each(DIALECTS)(
  'a payload is encoded once by the client, and parsed and encoded once by the API, on %s',
  async (dialect) => {
    const world = await startWorld(dialect)
    const countsSoFar = countJson()
    const ofClient: ReturnType<typeof countsSoFar>[] = []
    const { jobs: calls } = createClient({
      url: world.url,
      token: world.adminToken,
      jobs,
      fetch(...request) {
        ofClient.push(countsSoFar())
        return fetch(...request)
      },
    })

    const id = await calls.enqueue('counted', payload, { meta: { agent: 'a1' } })
    const ofServer = [countsSoFar()]
    const { results } = await calls.enqueueMany([{ topic: 'counted', payload }])
    ofServer.push(countsSoFar())
    expect(ofClient).toEqual(Array(2).fill({ stringify: 1, parse: 0 }))
    expect(ofServer).toEqual(Array(2).fill({ stringify: 1, parse: 1 }))

    const rest = await fetch(`${world.url}/api/jobs/enqueue`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.adminToken}`, 'content-type': 'application/json' },
      body: `{"topic":"counted","payload":{"list":["${SECRET}"]}}`,
    })
    expect(rest.status).toBe(201)
    expect(countsSoFar()).toEqual({ stringify: 1, parse: 1 })

    for (const stored of [id, results[0]?.id ?? ''])
      expect((await calls.get(stored)).payload).toEqual(payload)
  },
)
