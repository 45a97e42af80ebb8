import { describe, expect, it } from 'vitest'
import { DIALECTS, startWorld } from './harness.ts'

describe.each(DIALECTS)('everything else that the API can do, on %s', (dialect) => {
  it('is a call', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    await world.work({ async embed() {} })
    const from = new Date(Date.now() - 60_000)

    expect(await client.topics.list()).toMatchObject([{ topic: 'embed' }])
    expect(await client.workers.list()).toMatchObject([
      { queues: ['default', 'mail'], startedAt: expect.any(Date) },
    ])

    await client.queues.pause({ queue: 'mail' })
    await client.queues.limit({ queue: 'mail', limit: { maxRunning: 2 } })
    await client.queues.configure({ queue: 'mail', ageingMs: 1_000 })
    expect(await client.queues.list()).toContainEqual(
      expect.objectContaining({
        queue: 'mail',
        paused: { at: expect.any(Date), by: 'admin' },
        ageingMs: 1_000,
      }),
    )
    await client.queues.resume({ queue: 'mail' })

    await client.schedules.save({ name: 'nightly', cron: '0 3 * * *', topic: 'embed', payload: { size: 1 } })
    await client.schedules.pause({ name: 'nightly' })
    await client.schedules.resume({ name: 'nightly' })
    const { id } = await client.schedules.runNow({ name: 'nightly' })
    expect(await client.jobs.wait(id)).toBeNull()
    expect(await client.schedules.list()).toMatchObject([{ name: 'nightly', nextAt: expect.any(Date) }])
    await client.schedules.remove({ name: 'nightly' })

    expect(await client.jobs.series({ from, to: new Date() })).toBeInstanceOf(Array)
    expect(await client.jobs.failures()).toEqual([])
    expect(await client.jobs.stats()).toMatchObject({ completed: 1 })

    const token = await client.tokens.create({ name: 'phone', role: 'viewer' })
    expect(await world.client({ token: token.secret }).tokens.me()).toMatchObject({
      role: 'viewer',
      may: ['read'],
    })
    await client.tokens.revoke({ id: token.id })
    expect(await client.tokens.list({ ended: true })).toContainEqual(
      expect.objectContaining({ id: token.id, revokedAt: expect.any(Date) }),
    )

    await client.settings.set({ httpEnabled: false })
    expect((await client.settings.get()).values).toMatchObject({ httpEnabled: false })
    const { items } = await client.audit.list({ from, limit: 100 })
    expect(items.map(({ action }) => action)).toContain('schedules.runNow')

    expect((await client.health.get()).now).toBeInstanceOf(Date)
    for await (const health of client.health.watch()) {
      expect(health.now).toBeInstanceOf(Date)
      break
    }
  })

  it('is a sign-in, for browsers', async () => {
    const world = await startWorld(dialect)
    const { secret } = await world.client().tokens.create({ name: 'ada', role: 'viewer' })
    // As a browser does: it keeps the cookie, and shows it.
    let cookie = ''
    const browser = world.client({
      token: undefined,
      async fetch(input, init) {
        const headers = new Headers(init?.headers)
        if (cookie !== '') headers.set('cookie', cookie)
        headers.set('origin', world.url)
        const response = await fetch(input, { ...init, headers })
        cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
        return response
      },
    })
    await expect(browser.session.start('oncue_wrong')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    const session = await browser.session.start(secret)
    expect(session).toEqual({ name: 'ada', role: 'viewer', expiresAt: expect.any(Date) })
    expect(await browser.tokens.me()).toMatchObject({ kind: 'session', name: 'ada' })
    await browser.session.end()
    expect(await browser.tokens.me()).toMatchObject({ kind: 'anonymous' })
  })
})
