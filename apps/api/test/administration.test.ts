import { OncueError } from '@oncue/core'
import { DEFAULT_SETTINGS } from '@oncue/core/wire'
import { describe, expect, it, vi } from 'vitest'
import { ADMIN_TOKEN, DIALECTS, errorOf, startTestApi } from './harness.ts'

describe.each(DIALECTS)('administration on %s', (dialect) => {
  describe('tokens', () => {
    it('are shown once, and work', async () => {
      const api = await startTestApi(dialect)
      const admin = api.client()
      const expiresAt = new Date(Date.now() + 60_000)
      const created = await admin.tokens.create.mutate({
        ...{ name: ' shop ', role: 'producer', allowedTopics: ['mail_*'], expiresAt },
      })
      expect(created).toMatchObject({ name: 'shop', role: 'producer', createdBy: 'admin', expiresAt })
      const { secret, ...shown } = created
      const listed = await admin.tokens.list.query()
      expect(listed).toContainEqual(shown)
      expect(JSON.stringify(listed)).not.toContain(secret)

      const shop = api.client(secret)
      expect(await shop.tokens.me.query()).toMatchObject({
        ...{ kind: 'token', id: created.id, name: 'shop', role: 'producer' },
        ...{ allowedTopics: ['mail_*'], may: ['enqueue'] },
      })
      await shop.jobs.enqueue.mutate({ topic: 'mail_digest' })
      expect(await errorOf(shop.jobs.enqueue.mutate({ topic: 'report' }))).toMatchObject({
        code: 'TOPIC_NOT_ALLOWED',
      })
    })

    it('cannot be created already expired', async () => {
      const api = await startTestApi(dialect)
      const expiresAt = new Date(Date.now() - 1_000)
      const call = api.client().tokens.create.mutate({ name: 'late', role: 'viewer', expiresAt })
      expect(await errorOf(call)).toMatchObject({ code: 'INVALID_INPUT' })
    })

    it('are refused from the moment they are revoked', async () => {
      const api = await startTestApi(dialect)
      const { id, secret } = await api.client().tokens.create.mutate({ name: 'x', role: 'viewer' })
      const viewer = api.client(secret)
      await viewer.jobs.stats.query()
      await api.client().tokens.revoke.mutate({ id })
      expect(await errorOf(viewer.jobs.stats.query())).toMatchObject({ code: 'UNAUTHORIZED' })
      const ended = await api.client().tokens.list.query({ ended: true })
      expect(ended.find((token) => token.id === id)?.revokedAt).toBeInstanceOf(Date)
    })

    it('that does not exist cannot be revoked', async () => {
      const api = await startTestApi(dialect)
      const id = '01900000-0000-7000-8000-00000000000f'
      expect(await errorOf(api.client().tokens.revoke.mutate({ id }))).toMatchObject({
        code: 'TOKEN_NOT_FOUND',
      })
    })

    it('tell callers who they are and what they may do, also those without one', async () => {
      const api = await startTestApi(dialect)
      expect(await api.client(null).tokens.me.query()).toMatchObject({
        kind: 'anonymous',
        role: null,
        may: [],
      })
      expect(await api.client().tokens.me.query()).toMatchObject({
        ...{ kind: 'token', name: 'admin', may: ['enqueue', 'read', 'act', 'edit', 'admin'] },
      })
    })
  })

  describe('settings', () => {
    it('open and close the API at once', async () => {
      const api = await startTestApi(dialect)
      const [admin, anyone] = [api.client(), api.client(null)]
      expect(await errorOf(anyone.jobs.enqueue.mutate({ topic: 'mail' }))).toMatchObject({
        code: 'UNAUTHORIZED',
      })
      const { values, sources } = await admin.settings.set.mutate({
        enqueueRule: 'true',
        allowedTopics: ['mail'],
      })
      expect(values).toEqual({ ...DEFAULT_SETTINGS, enqueueRule: 'true', allowedTopics: ['mail'] })
      expect(sources).toMatchObject({
        enqueueRule: { from: 'runtime', updatedBy: 'admin' },
        manageRule: { from: 'default', updatedBy: null },
      })
      await anyone.jobs.enqueue.mutate({ topic: 'mail' })
      expect(await errorOf(admin.jobs.enqueue.mutate({ topic: 'other' }))).toMatchObject({
        code: 'TOPIC_NOT_ALLOWED',
      })
      await admin.settings.set.mutate({ reset: ['enqueueRule', 'allowedTopics'] })
      expect(await admin.settings.get.query()).toMatchObject({ values: DEFAULT_SETTINGS })
      expect(await errorOf(anyone.jobs.enqueue.mutate({ topic: 'mail' }))).toMatchObject({
        code: 'UNAUTHORIZED',
      })
    })

    it('start with the values of the environment', async () => {
      const api = await startTestApi(dialect, {
        env: { ONCUE_MANAGE_RULE: 'true', ONCUE_MASKED_KEYS: 'pin' },
      })
      await api.client(null).jobs.stats.query()
      const { values, sources } = await api.client().settings.get.query()
      expect(values).toMatchObject({ manageRule: 'true', maskedKeys: ['pin'] })
      expect(sources.maskedKeys).toMatchObject({ from: 'environment' })
    })

    it('switch the API off for all but admins, who can switch it on', async () => {
      const api = await startTestApi(dialect)
      const operator = api.client(await api.tokenFor('operator'))
      const admin = api.client()
      await admin.settings.set.mutate({ httpEnabled: false })
      expect(await errorOf(operator.jobs.stats.query())).toMatchObject({ code: 'HTTP_DISABLED' })
      expect(await operator.tokens.me.query()).toMatchObject({ may: [] })
      expect((await api.fetch('/healthz', { token: null })).status).toBe(200)
      expect((await api.fetch('/api/session', { token: null, json: { token: ADMIN_TOKEN } })).status).toBe(
        201,
      )
      await admin.jobs.stats.query()
      await admin.settings.set.mutate({ httpEnabled: true })
      await operator.jobs.stats.query()
    })

    it.each([
      ['nothing', {}],
      ['nothing to reset', { reset: [] }],
      ['an unknown rule', { manageRule: 'everyone' }],
      ['a topic that cannot exist', { allowedTopics: ['a b'] }],
      ['a key with a NUL', { maskedKeys: ['a\0b'] }],
      ['an unknown mode', { payloadValidation: 'maybe' }],
      ['an unknown name to reset', { reset: ['unknown'] }],
      ['the same name twice', { httpEnabled: true, reset: ['httpEnabled'] }],
      ['an unknown name', { unknown: 1 }],
    ])('refuse %s, and change nothing', async (_, change) => {
      const api = await startTestApi(dialect)
      const admin = api.client()
      const call = admin.settings.set.mutate(change as { httpEnabled: boolean })
      expect((await errorOf(call))?.code).toMatch(/^INVALID_(INPUT|TEXT)$/)
      expect(await admin.settings.get.query()).toMatchObject({ values: DEFAULT_SETTINGS })
    })
  })

  describe('the audit', () => {
    it('records who changed what, from where', async () => {
      const api = await startTestApi(dialect)
      const token = await api.tokenFor('operator')
      const { id: actorId } = await api.client(token).tokens.me.query()
      const id = await api.enqueue()
      const headers = { 'user-agent': 'a-test/1', 'x-request-id': 'r-1' }
      await api.fetch(`/api/jobs/${id}/cancel`, { method: 'POST', token, headers })
      const { items } = await api.client().audit.list.query({ actorId })
      expect(items).toMatchObject([
        {
          actor: { id: actorId, name: 'operator', kind: 'token' },
          action: 'jobs.cancel',
          target: { ids: [id] },
          count: 1,
          ip: '127.0.0.1',
          userAgent: 'a-test/1',
          requestId: 'r-1',
        },
      ])
    })

    it('records what was done by an action that failed midway', async () => {
      const api = await startTestApi(dialect)
      const token = await api.tokenFor('operator')
      const failure = { details: { done: 500, skipped: { BUSY: 1 } } }
      vi.spyOn(api.store, 'requeue').mockRejectedValue(
        new OncueError('DATABASE_UNAVAILABLE', 'Postgres: connect ECONNREFUSED 10.0.0.5:5432', failure),
      )
      const filter = { topic: 'mail', status: 'failed' as const }
      const error = await errorOf(api.client(token).jobs.requeue.mutate({ filter }))
      expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', ...failure })
      expect(JSON.stringify(error)).not.toContain('10.0.0.5')
      const { items } = await api.client().audit.list.query({ action: 'jobs.requeue' })
      expect(items).toMatchObject([{ target: { filter, failed: 'DATABASE_UNAVAILABLE' }, count: 500 }])
    })

    it('logs entries that it cannot store', async () => {
      const api = await startTestApi(dialect)
      const logged = vi.spyOn(api.services.log, 'error')
      vi.spyOn(api.store.audit, 'record').mockRejectedValue(new OncueError('DATABASE_FULL', 'full'))
      expect(await errorOf(api.client().queues.pause.mutate({ queue: 'mail' }))).toMatchObject({
        code: 'DATABASE_FULL',
      })
      expect(logged).toHaveBeenCalledWith(
        expect.objectContaining({ action: 'queues.pause', target: { queue: 'mail' } }),
        'could not write an audit entry',
      )
      logged.mockRestore()
    })

    it('holds no secret of the tokens that were made', async () => {
      const api = await startTestApi(dialect)
      const secret = await api.tokenFor('viewer')
      const { items } = await api.client().audit.list.query({ action: 'tokens.create' })
      expect(items).toMatchObject([{ target: { name: 'viewer', role: 'viewer' }, count: 1 }])
      expect(JSON.stringify(items)).not.toContain(secret)
    })
  })

  it("lets only admins stop Oncue's own queue", async () => {
    const api = await startTestApi(dialect)
    const operator = api.client(await api.tokenFor('operator'))
    const queue = 'oncue'
    for (const [verb, call] of [
      ['pause', () => operator.queues.pause.mutate({ queue })],
      ['limit', () => operator.queues.limit.mutate({ queue, limit: { maxRunning: 0 } })],
      ['configure', () => operator.queues.configure.mutate({ queue, ageingMs: 1 })],
    ] as const) {
      const message = `Only an admin may ${verb} the alert queue`
      expect(await errorOf(call())).toMatchObject({ code: 'FORBIDDEN', message })
    }
    await api.client().queues.pause.mutate({ queue })
    expect((await operator.health.get.query()).delivery.paused).toMatchObject({ by: 'admin' })
    await operator.queues.resume.mutate({ queue })
    expect((await api.store.queues()).find((overview) => overview.queue === queue)?.paused ?? null).toBeNull()
  })

  it("lets only admins cancel or delete Oncue's own jobs", async () => {
    const api = await startTestApi(dialect, { background: false })
    const token = await api.tokenFor('operator')
    const { jobs, bulkOperations } = api.client(token)
    const queue = 'oncue'
    const topic = 'oncue:notify'
    const own = await api.enqueue({ topic, queue })
    const other = await api.enqueue()
    const asOf = await api.store.now()
    for (const filter of [{ queue }, { topic }, { queue, status: 'pending' as const }]) {
      const bulk = { filter, asOf, expectedCount: 1, idempotencyKey: JSON.stringify(filter) }
      for (const call of [
        () => jobs.cancel.mutate({ filter }),
        () => jobs.delete.mutate({ filter }),
        () => bulkOperations.run.mutate({ action: 'cancel', ...bulk }),
        () => bulkOperations.run.mutate({ action: 'delete', ...bulk }),
      ])
        expect(await errorOf(call())).toMatchObject({ code: 'FORBIDDEN' })
    }
    const skipped = { done: 0, skipped: { FORBIDDEN: 1 } }
    expect(await jobs.delete.mutate({ ids: [own, own] })).toEqual(skipped)
    expect(await jobs.cancel.mutate({ ids: [own, other] })).toEqual({ ...skipped, done: 1 })
    const rest = await api.fetch(`/api/jobs/${own}`, { method: 'DELETE', token })
    expect([rest.status, await rest.json()]).toMatchObject([403, { error: { code: 'FORBIDDEN' } }])
    expect(await api.store.get(own)).toMatchObject({ status: 'pending' })
    expect(await api.client().jobs.cancel.mutate({ ids: [own] })).toEqual({ done: 1, skipped: {} })
    // Operators may requeue them.
    expect(await jobs.requeue.mutate({ filter: { queue } })).toEqual({ done: 1, skipped: {} })
    expect(await api.client().jobs.delete.mutate({ filter: { topic } })).toEqual({ done: 1, skipped: {} })
  })

  it('lets a token enqueue only into its allowed queues', async () => {
    const api = await startTestApi(dialect)
    const { secret } = await api
      .client()
      .tokens.create.mutate({ name: 'shop', role: 'operator', allowedQueues: ['mail_*'] })
    const shop = api.client(secret)
    const refusal = { code: 'QUEUE_NOT_ALLOWED', message: '"shop" may not enqueue into invented' }
    const job = { topic: 'mail', queue: 'invented' }
    const options = { queue: 'invented' }
    const schedule = { name: 'nightly', cron: '0 9 * * *', topic: 'mail', options }
    await api.client().schedules.save.mutate(schedule)
    for (const call of [
      () => shop.jobs.enqueue.mutate(job),
      () => shop.jobs.enqueueMany.mutate({ jobs: [{ ...job, queue: 'mail_digest' }, job], atomic: true }),
      () => shop.schedules.save.mutate({ ...schedule, name: 'mine' }),
      () => shop.schedules.runNow.mutate({ name: 'nightly' }),
    ])
      expect(await errorOf(call())).toMatchObject(refusal)
    expect(await errorOf(shop.jobs.enqueue.mutate({ topic: 'mail' }))).toMatchObject({
      message: '"shop" may not enqueue into default',
    })
    const answer = await shop.jobs.enqueueMany.mutate({ jobs: [{ ...job, queue: 'mail_digest' }, job] })
    expect(answer).toMatchObject({ stored: 1, results: [{ created: true }, { error: refusal }] })
    // The same holds for devices that it pairs.
    const { code } = await shop.pairings.create.mutate()
    const phone = await api.client(null).pairings.exchange.mutate({ code, name: 'phone' })
    expect(await errorOf(api.client(phone.secret).jobs.enqueue.mutate(job))).toMatchObject({
      code: 'QUEUE_NOT_ALLOWED',
    })
    await api.client().settings.set.mutate({ allowedQueues: ['mail_*'] })
    expect(await errorOf(api.client().jobs.enqueue.mutate(job))).toMatchObject({
      message: 'The setting allowedQueues does not allow invented',
    })
  })

  it('lets no caller enqueue through a schedule without the right to enqueue', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_ENQUEUE_RULE: 'admin' } })
    const schedule = { name: 'nightly', cron: '0 9 * * *', topic: 'mail' }
    await api.client().schedules.save.mutate(schedule)
    const operator = api.client(await api.tokenFor('operator'))
    for (const call of [
      () => operator.jobs.enqueue.mutate({ topic: 'mail' }),
      () => operator.schedules.save.mutate(schedule),
      () => operator.schedules.save.mutate({ ...schedule, name: 'mine' }),
      () => operator.schedules.runNow.mutate({ name: 'nightly' }),
      // Nor does it reveal whether the schedule exists.
      () => operator.schedules.runNow.mutate({ name: 'none' }),
    ])
      expect(await errorOf(call())).toMatchObject({
        code: 'FORBIDDEN',
        message:
          '"operator" may not do this: it needs a role that may enqueue jobs, and its role is operator',
      })
    expect((await api.client().jobs.list.query({})).items).toEqual([])
    await operator.schedules.pause.mutate({ name: 'nightly' })
    await api.client().schedules.runNow.mutate({ name: 'nightly' })
  })

  describe('masking', () => {
    const payload = { user: 'ada', password: 'hunter2', nested: [{ apiKey: 'k' }] }

    it('hides secrets from all roles below admin, and says where', async () => {
      const api = await startTestApi(dialect)
      const id = await api.enqueue({ payload, meta: { token: 't', agent: 'a1' } })
      await api.store.events.append(id, null, [{ type: 'log', data: { fields: { secret: 's' } } }])
      const operator = api.client(await api.tokenFor('operator'))

      expect(await operator.jobs.get.query({ id })).toMatchObject({
        payload: { user: 'ada', password: '[masked]', nested: [{ apiKey: '[masked]' }] },
        meta: { token: '[masked]', agent: 'a1' },
        events: [{ data: { fields: { secret: '[masked]' } } }],
        masked: [
          'payload.password',
          'payload.nested[0].apiKey',
          'meta.token',
          'events[0].data.fields.secret',
        ],
      })
      expect(await operator.jobs.events.query({ id })).toMatchObject({
        events: [{ data: { fields: { secret: '[masked]' } } }],
      })
      const rest = await (await api.fetch(`/api/jobs/${id}`, { token: await api.tokenFor('viewer') })).text()
      for (const secret of ['hunter2', '"k"', '"s"', '"t"']) expect(rest).not.toContain(secret)

      expect(await api.client().jobs.get.query({ id })).toMatchObject({ payload, masked: [] })
      expect(await api.store.get(id)).toMatchObject({ payload })
    })

    it('does not let a mask be stored in place of what it hides', async () => {
      const api = await startTestApi(dialect)
      const operator = api.client(await api.tokenFor('operator'))
      const schedule = { name: 'daily', cron: '0 9 * * *', topic: 'mail', payload }
      await operator.schedules.save.mutate(schedule)
      const [shown] = await operator.schedules.list.query()
      const sentBack = { ...schedule, payload: shown?.payload }
      const refusal = { code: 'INVALID_PAYLOAD', details: { path: 'payload.password' } }
      expect(await errorOf(operator.schedules.save.mutate(sentBack))).toMatchObject(refusal)
      expect(
        await errorOf(operator.jobs.enqueue.mutate({ topic: 'mail', payload: shown?.payload })),
      ).toMatchObject(refusal)
      expect(await api.store.schedules.list()).toMatchObject([{ payload }])
      // Under other keys the mask is ordinary text.
      await operator.jobs.enqueue.mutate({ topic: 'mail', payload: { note: '[masked]' } })
    })

    it('hides secrets in the meta of a schedule, and refuses a mask in their place', async () => {
      const api = await startTestApi(dialect)
      const operator = api.client(await api.tokenFor('operator'))
      const schedule = { name: 'nightly', cron: '0 9 * * *', topic: 'mail' }
      const meta = { token: 't-1', agent: 'a1' }
      const saved = await operator.schedules.save.mutate({ ...schedule, options: { meta } })
      const [listed] = await operator.schedules.list.query()
      const shown = { options: { meta: { token: '[masked]', agent: 'a1' } } }
      expect([saved, listed]).toMatchObject([shown, shown])
      expect(await errorOf(operator.schedules.save.mutate({ ...schedule, ...shown }))).toMatchObject({
        code: 'INVALID_PAYLOAD',
        details: { path: 'meta.token' },
      })
      expect(await api.client().schedules.list.query()).toMatchObject([{ options: { meta } }])
    })

    it('does not reveal a hidden value through a filter', async () => {
      const api = await startTestApi(dialect)
      const id = await api.enqueue({ meta: { token: 't', agent: 'a1' } })
      const operator = api.client(await api.tokenFor('operator'))
      const filter = { meta: { token: 't' } }
      const refusal = { code: 'FORBIDDEN', message: expect.stringContaining('meta.token') }
      expect(await errorOf(operator.jobs.list.query(filter))).toMatchObject(refusal)
      expect(await errorOf(operator.jobs.cancel.mutate({ filter }))).toMatchObject(refusal)
      expect(await operator.jobs.list.query({ meta: { agent: 'a1' } })).toMatchObject({ items: [{ id }] })
      expect(await api.client().jobs.list.query(filter)).toMatchObject({ items: [{ id }] })
    })

    it('does not reveal a hidden value through a search', async () => {
      const api = await startTestApi(dialect)
      const [id] = [await api.enqueue({ payload }), await api.enqueue(), await api.enqueue({ payload })]
      const createdFrom = new Date(Date.now() - 60_000)
      const operator = await api.tokenFor('operator')
      const viewer = await api.tokenFor('viewer')

      /** The whole response without its request id. */
      const answerTo = async (token: string, text: string) => {
        const query = new URLSearchParams({ payload_text: text, created_from: createdFrom.toISOString() })
        const response = await api.fetch(`/api/jobs?${query}&limit=1`, { token })
        const headers = [...response.headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
        return { status: response.status, body: await response.text(), headers }
      }
      const [right, wrong] = ['"password":"h', '"password":"x']
      for (const token of [operator, viewer]) {
        const answer = await answerTo(token, right)
        expect(await answerTo(token, wrong)).toEqual(answer)
        expect(answer.status).toBe(403)
      }
      const filters = [right, wrong].map((payloadText) => ({ payloadText, createdFrom }))
      const said = await Promise.all(
        filters.flatMap((filter) => [
          errorOf(api.client(operator).jobs.list.query({ ...filter, limit: 1 })),
          errorOf(api.client(operator).bulkOperations.preview.query({ action: 'cancel', filter })),
          errorOf(api.client(operator).jobs.cancel.mutate({ filter })),
        ]),
      )
      expect(new Set(said.map((error) => JSON.stringify(error))).size).toBe(1)

      const found = await api.client().jobs.list.query({ payloadText: 'hunter2', createdFrom })
      expect(found).toMatchObject({ total: 2, items: [{}, { id }] })
    })

    it('lets every role search when nothing is masked', async () => {
      const api = await startTestApi(dialect)
      const id = await api.enqueue({ payload })
      await api.client().settings.set.mutate({ maskedKeys: [] })
      const viewer = api.client(await api.tokenFor('viewer'))
      const createdFrom = new Date(Date.now() - 60_000)
      expect(await viewer.jobs.list.query({ payloadText: 'hunter2', createdFrom })).toMatchObject({
        items: [{ id }],
      })
    })

    it('hides what the setting names', async () => {
      const api = await startTestApi(dialect)
      const id = await api.enqueue({ payload })
      const viewer = api.client(await api.tokenFor('viewer'))
      await api.client().settings.set.mutate({ maskedKeys: ['user'] })
      expect(await viewer.jobs.get.query({ id })).toMatchObject({
        payload: { ...payload, user: '[masked]' },
        masked: ['payload.user'],
      })
    })
  })
})
