import { OncueError } from '@oncue/core'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { DIALECTS, errorOf, failJobs, startTestApi } from './harness.ts'

const SCHEMA = { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] }

describe.each(DIALECTS)('requeue with another payload on %s', (dialect) => {
  async function start(payload: unknown = { amount: 1 }, queue = 'default') {
    const api = await startTestApi(dialect)
    await api.store.announce([{ topic: 'payout', input: SCHEMA, output: {}, policy: {} }])
    const id = await api.enqueue({ topic: 'payout', payload, queue })
    const { run } = await api.claim(queue)
    await api.store.settle([
      { id, run, kind: 'fail', error: { class: 'TypeError', message: 'no', fingerprint: 'f00d' } },
    ])
    const admin = api.client()
    const read = async () => {
      const { run, updated } = await admin.jobs.get.query({ id })
      return { id, run, updated }
    }
    return { api, admin, id, read }
  }

  it('puts the job back, with who changed what in its events and in the audit', async () => {
    const { admin, id, read } = await start({ amount: 1, note: 'n', items: [1, 2] })
    const payload = { amount: 2, items: [1], currency: 'EUR' }
    expect(await admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload })).toEqual({
      id,
      changed: ['payload.amount', 'payload.note', 'payload.items[1]', 'payload.currency'],
    })
    const job = await admin.jobs.get.query({ id })
    expect(job).toMatchObject({ status: 'pending', payload })
    expect(job.events.at(-1)).toMatchObject({
      type: 'payload_changed',
      data: { by: 'admin', paths: expect.arrayContaining(['payload.amount']) },
    })
    const { items } = await admin.audit.list.query({ action: 'jobs.requeueWithPayload' })
    expect(items).toMatchObject([
      {
        actor: { name: 'admin' },
        count: 1,
        target: {
          ids: [id],
          topic: 'payout',
          queue: 'default',
          more: 0,
          changes: [
            { path: 'payload.amount', before: 1, after: 2 },
            { path: 'payload.note', before: 'n' },
            { path: 'payload.items[1]', before: 2 },
            { path: 'payload.currency', after: 'EUR' },
          ],
        },
      },
    ])
  })

  it('keeps secrets out of the audit, and long values short', async () => {
    const { admin, read } = await start({ amount: 1, user: { password: 'hunter2' }, many: {} })
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`field${n}`, 'x'.repeat(300)]))
    const payload = { amount: 1, user: { password: 'hunter3' }, api_key: { a: 'hunter4' }, many }
    const { changed } = await admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload })
    expect(changed).toHaveLength(20)
    const [entry] = (await admin.audit.list.query({ action: 'jobs.requeueWithPayload' })).items
    const text = JSON.stringify(entry?.target)
    expect(text).not.toContain('hunter')
    expect(text.length).toBeLessThan(10_000)
    expect(entry?.target).toMatchObject({
      changes: expect.arrayContaining([
        { path: 'payload.user.password', before: '[masked]', after: '[masked]' },
      ]),
      more: 482,
    })
  })

  it('names no key within a masked value, in the answer, the event and the audit', async () => {
    const { api, admin, id, read } = await start({
      amount: 1,
      credentials: { sk_live_1: 'a', sk_live_2: 'b' },
    })
    const payload = { amount: 2, credentials: { sk_live_3: 'a', sk_live_2: 'c' } }
    const { changed } = await admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload })
    const viewer = api.client(await api.tokenFor('viewer'))
    const job = await viewer.jobs.get.query({ id })
    expect(job.payload).toEqual({ amount: 2, credentials: '[masked]' })
    const paths = ['payload.amount', 'payload.credentials']
    expect(job.events.at(-1)?.data).toMatchObject({ paths })
    expect(changed).toEqual(paths)
    const { items } = await admin.audit.list.query({ action: 'jobs.requeueWithPayload' })
    expect(items[0]?.target).toMatchObject({
      changes: [
        { path: 'payload.amount', before: 1, after: 2 },
        { path: 'payload.credentials', before: '[masked]', after: '[masked]' },
      ],
    })
    expect(JSON.stringify([job, items])).not.toContain('sk_live')
  })

  it('masks in the audit what is masked later, also within what was too long to keep', async () => {
    const notes = (iban: string) => ({ bank: { iban }, text: 'x'.repeat(300) })
    const bank = (iban: string) => ({ amount: 1, iban, bank: { [iban]: 1, items: [{ iban }] } })
    const { api, admin, read } = await start(bank('DE01'))
    const payload = { ...bank('DE02'), notes: notes('DE03'), short: { iban: 'DE04' } }
    await admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload })
    const operator = api.client(await api.tokenFor('operator'))
    const seen = async (client: typeof admin) =>
      (await client.audit.list.query({ action: 'jobs.requeueWithPayload' })).items[0]?.target
    const before = [
      { path: 'payload.iban', before: 'DE01', after: 'DE02' },
      { path: 'payload.bank.DE01', before: 1 },
      { path: 'payload.bank.items[0].iban', before: 'DE01', after: 'DE02' },
      { path: 'payload.bank.DE02', after: 1 },
      { path: 'payload.notes', after: '… (334 bytes)' },
      { path: 'payload.short', after: { iban: 'DE04' } },
    ]
    expect(await seen(operator)).toMatchObject({ changes: before })
    const { maskedKeys } = (await admin.settings.get.query()).values
    await admin.settings.set.mutate({ maskedKeys: [...maskedKeys, 'iban'] })
    const both = { before: '[masked]', after: '[masked]' }
    const [, one, , two, long] = before
    expect(await seen(operator)).toMatchObject({
      changes: [
        { path: 'payload.iban', ...both },
        one,
        { path: 'payload.bank.items[0].iban', ...both },
        two,
        long,
        { path: 'payload.short', after: { iban: '[masked]' } },
      ],
    })
    await admin.settings.set.mutate({ maskedKeys: [...maskedKeys, 'iban', 'bank'] })
    const hidden = await seen(operator)
    expect(JSON.stringify(hidden)).not.toContain('DE0')
    expect(hidden).toMatchObject({
      changes: [
        { path: 'payload.iban', ...both },
        { path: 'payload.bank', ...both },
        long,
        { path: 'payload.short', after: { iban: '[masked]' } },
      ],
    })
    expect(await seen(admin)).toMatchObject({ changes: before })
  })

  it('masks in the events what is masked later, wherever they are read', async () => {
    const { api, admin, id, read } = await start({ amount: 1, bank: { DE01: 1 }, 'a "b"': { DE01: 1 } })
    const payload = { amount: 2, bank: { DE02: 1 }, 'a "b"': { DE02: 1 } }
    await admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload })
    const operator = api.client(await api.tokenFor('operator'))
    const token = await api.tokenFor('viewer')
    const watch = (client: typeof admin) => {
      const streamed: unknown[] = []
      const onData = ({ data }: { data: unknown }) => void streamed.push(data)
      const subscription = client.jobs.watch.subscribe({ id }, { onData })
      onTestFinished(() => subscription.unsubscribe())
      return streamed
    }
    const early = watch(operator)
    await eventually(() => expect(JSON.stringify(early)).toContain('payload.bank.DE01'))
    early.length = 0

    const { maskedKeys } = (await admin.settings.get.query()).values
    await admin.settings.set.mutate({ maskedKeys: [...maskedKeys, 'bank', 'b'] })
    const changed = { type: 'payload_changed', data: { paths: ['payload.bank.DE03'] } }
    await api.store.events.append(id, null, [changed])
    const late = watch(operator)
    const streamed = [early, late]
    for (const stream of streamed)
      await eventually(() => expect(JSON.stringify(stream)).toContain('"paths":["payload.bank"]'))

    const hidden = ['payload.amount', 'payload.bank', 'payload["a \\"b\\""]']
    const { events } = await operator.jobs.get.query({ id })
    expect(events.find(({ type }) => type === 'payload_changed')?.data).toMatchObject({ paths: hidden })
    const listed = await operator.jobs.events.query({ id })
    const over = await (await api.fetch(`/api/jobs/${id}`, { token })).json()
    expect(JSON.stringify([events, listed, over.events, streamed])).not.toContain('DE0')
    expect(JSON.stringify(await admin.jobs.events.query({ id }))).toContain('payload.bank.DE01')
  })

  it('keeps no value of a place whose path is too long to keep', async () => {
    const deep = (value: string) => ({ amount: 1, ['x'.repeat(250)]: { iban: value } })
    const { admin, read } = await start(deep('DE01'))
    const edit = { ...(await read()), payload: deep('DE02') }
    const { changed } = await admin.jobs.requeueWithPayload.mutate(edit)
    expect(changed).toEqual(['payload.…'])
    const { items } = await admin.audit.list.query({ action: 'jobs.requeueWithPayload' })
    const cut = '… (6 bytes)'
    expect(items[0]?.target).toMatchObject({ changes: [{ path: 'payload.…', before: cut, after: cut }] })
  })

  it('leaves no change without its audit entry when the settings cannot be read', async () => {
    const { api, admin, id, read } = await start()
    const seen = await read()
    const { settings, store } = api.services
    const settingsRead = vi.spyOn(settings, 'get')
    const write = store.requeueWithPayload.bind(store)
    vi.spyOn(store, 'requeueWithPayload').mockImplementation(async (change) => {
      await write(change)
      settingsRead.mockRejectedValue(new OncueError('DATABASE_UNAVAILABLE', 'gone'))
    })
    const call = admin.jobs.requeueWithPayload.mutate({ ...seen, payload: { amount: 2 } })
    await call.catch(() => {})
    settingsRead.mockRestore()
    expect(await admin.jobs.get.query({ id })).toMatchObject({ payload: { amount: 2 } })
    const { items } = await admin.audit.list.query({ action: 'jobs.requeueWithPayload' })
    expect(items).toMatchObject([{ target: { ids: [id] } }])
  })

  it('refuses a job that has changed since it was read', async () => {
    const { api, admin, id, read } = await start()
    const seen = await read()
    await admin.jobs.requeue.mutate({ ids: [id] })
    const again = () => admin.jobs.requeueWithPayload.mutate({ ...seen, payload: { amount: 2 } })
    expect(await errorOf(again())).toMatchObject({ code: 'JOB_CHANGED' })
    await api.complete(await api.claim())
    expect(await errorOf(again())).toMatchObject({ code: 'JOB_CHANGED' })
    expect(await admin.jobs.get.query({ id })).toMatchObject({ status: 'completed', payload: { amount: 1 } })
    expect((await admin.audit.list.query({ action: 'jobs.requeueWithPayload' })).items).toEqual([])
  })

  it.each([
    ['what does not fit the schema', { amount: '2' }, 'INVALID_PAYLOAD', 'payload.amount'],
    ['what lacks a field', {}, 'INVALID_PAYLOAD', 'payload.amount'],
    ['a mask', { amount: 1, password: '[masked]' }, 'INVALID_PAYLOAD', 'payload.password'],
    ['an unsafe number', { amount: 2 ** 60 }, 'UNSAFE_NUMBER', 'payload.amount'],
    ['NUL', { amount: 1, text: '\0' }, 'INVALID_TEXT', 'payload.text'],
    ['what is too large', { amount: 1, text: 'x'.repeat(1_100_000) }, 'PAYLOAD_TOO_LARGE', 'payload'],
  ])('refuses %s, and changes nothing', async (_, payload, code, path) => {
    const { admin, id, read } = await start()
    const error = await errorOf(admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload }))
    expect(error).toMatchObject({ code, message: expect.stringContaining(path) })
    expect(await admin.jobs.get.query({ id })).toMatchObject({ status: 'failed', payload: { amount: 1 } })
  })

  it('takes a payload as large as an enqueue does', async () => {
    const { admin, id, read } = await start()
    const payload = { amount: 1, text: 'x'.repeat(900_000) }
    await admin.jobs.requeueWithPayload.mutate({ ...(await read()), payload })
    expect((await admin.jobs.get.query({ id })).payload).toEqual(payload)
  })

  it('is for admins, and for operators only while the setting says so', async () => {
    const { api, admin, id, read } = await start()
    const operator = api.client(await api.tokenFor('operator'))
    const edit = async (client = operator) =>
      client.jobs.requeueWithPayload.mutate({ ...(await read()), payload: { amount: 2 } })
    expect(await errorOf(edit())).toMatchObject({ code: 'FORBIDDEN' })
    expect((await operator.tokens.me.query()).may).toEqual(['enqueue', 'read', 'act'])
    await admin.settings.set.mutate({ operatorsEditPayloads: true })
    expect((await operator.tokens.me.query()).may).toEqual(['enqueue', 'read', 'act', 'edit'])
    for (const role of ['viewer', 'producer'] as const)
      expect(await errorOf(edit(api.client(await api.tokenFor(role))))).toMatchObject({ code: 'FORBIDDEN' })
    expect(await edit()).toMatchObject({ id, changed: ['payload.amount'] })
    await admin.settings.set.mutate({ manageRule: 'admin' })
    expect(await errorOf(edit())).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('is not for operators who may not enqueue', async () => {
    const { api, admin, read } = await start()
    await admin.settings.set.mutate({ operatorsEditPayloads: true, enqueueRule: '' })
    const operator = api.client(await api.tokenFor('operator'))
    const edit = async (client: typeof admin) =>
      client.jobs.requeueWithPayload.mutate({ ...(await read()), payload: { amount: 2 } })
    expect(await errorOf(edit(operator))).toMatchObject({ code: 'FORBIDDEN' })
    expect((await operator.tokens.me.query()).may).toEqual(['read', 'act'])
    await edit(admin)
  })

  it('holds a token to its topics and queues, and leaves Oncue’s own jobs alone', async () => {
    const { api, admin, read } = await start({ amount: 1 }, 'payouts')
    await admin.settings.set.mutate({ operatorsEditPayloads: true })
    const limited = async (limits: { allowedTopics?: string[]; allowedQueues?: string[] }) => {
      const created = await admin.tokens.create.mutate({ name: 'desk', role: 'operator', ...limits })
      return api.client(created.secret)
    }
    const edit = async (client: typeof admin) =>
      client.jobs.requeueWithPayload.mutate({ ...(await read()), payload: { amount: 2 } })
    expect(await errorOf(edit(await limited({ allowedTopics: ['mail_*'] })))).toMatchObject({
      code: 'TOPIC_NOT_ALLOWED',
    })
    expect(await errorOf(edit(await limited({ allowedQueues: ['mail'] })))).toMatchObject({
      code: 'QUEUE_NOT_ALLOWED',
    })
    await edit(await limited({ allowedTopics: ['payout'], allowedQueues: ['payouts'] }))

    const own = await api.enqueue({ topic: 'oncue.notify', queue: INTERNAL_QUEUE, payload: {} })
    await admin.jobs.cancel.mutate({ ids: [own] })
    const { run, updated } = await admin.jobs.get.query({ id: own })
    const call = admin.jobs.requeueWithPayload.mutate({ id: own, run, updated, payload: { to: 'me' } })
    expect(await errorOf(call)).toMatchObject({ code: expect.stringMatching(/INVALID_|_NOT_ALLOWED/) })
  })

  it('works over plain HTTP, where the body is JSON', async () => {
    const { api, admin, id, read } = await start()
    const { run, updated } = await read()
    const send = (body: string) =>
      api.fetch(`/api/jobs/${id}/requeue-with-payload`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      })
    const broken = await send('{"payload": {"amount": 2,}}')
    expect([broken.status, (await broken.json()).error.code]).toEqual([400, 'INVALID_JSON'])
    const missing = await send(JSON.stringify({ run, updated }))
    expect([missing.status, (await missing.json()).error]).toMatchObject([
      400,
      { code: 'INVALID_INPUT', message: expect.stringContaining('payload') },
    ])
    const done = await send(JSON.stringify({ run, updated, payload: { amount: 2 } }))
    expect([done.status, await done.json()]).toMatchObject([200, { id, status: 'pending' }])
    expect((await admin.jobs.get.query({ id })).payload).toEqual({ amount: 2 })
    const again = await send(JSON.stringify({ run, updated, payload: { amount: 3 } }))
    expect([again.status, (await again.json()).error.code]).toEqual([409, 'JOB_CHANGED'])
  })

  it('says so for a job that runs, and for one that is gone', async () => {
    const { api, admin, read, id } = await start()
    await admin.jobs.requeue.mutate({ ids: [id] })
    await api.claim()
    const edit = async (seen: Awaited<ReturnType<typeof read>>) =>
      errorOf(admin.jobs.requeueWithPayload.mutate({ ...seen, payload: { amount: 2 } }))
    expect(await edit(await read())).toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringContaining('only finished jobs and jobs that wait for their retry'),
    })
    const [gone = ''] = await failJobs(api.store, 1, { queue: 'other' })
    await admin.jobs.delete.mutate({ ids: [gone] })
    expect(await edit({ ...(await read()), id: gone })).toMatchObject({ code: 'JOB_NOT_FOUND' })
  })
})
