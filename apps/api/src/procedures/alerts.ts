import { jobIdSchema, OncueError } from '@oncue/core'
import {
  type AlertRule,
  ackedAlertsSchema,
  ackRequestSchema,
  alertPageSchema,
  alertRuleSchema,
  alertSchema,
  createAlertRuleRequestSchema,
  createdAlertRuleSchema,
  idRequestSchema,
  listAlertsRequestSchema,
  resumeRequestSchema,
  snoozeRequestSchema,
  toRest,
  updateAlertRuleRequestSchema,
} from '@oncue/core/wire'
import type { AlertRow, AlertRuleRow, Store } from '@oncue/db'
import { z } from 'zod'
import { showAlert } from '../alerts/notification.ts'
import type { ApiContext } from '../context.ts'
import { alertQuery, restAlertPageSchema, restAlertSchema } from '../http/rest/shapes.ts'
import { actorOf } from './actor.ts'
import { mutation, query, subscription } from './procedure.ts'

export const alerts = {
  list: query({
    access: 'read',
    input: listAlertsRequestSchema.default({ limit: 50 }),
    output: alertPageSchema,
    async run({ store, control }, { limit, cursor, ...filter }) {
      const [now, page] = await Promise.all([store.now(), control.alerts.list(filter, { limit, cursor })])
      return { ...page, items: page.items.map((row) => showAlert(row, now)) }
    },
    rest: [
      {
        at: 'GET /api/alerts',
        summary: 'List alerts, the latest first',
        query: alertQuery,
        responses: { 200: restAlertPageSchema },
        errors: ['INVALID_QUEUE', 'INVALID_CURSOR'],
        respond: ({ items, ...page }) => ({
          status: 200,
          body: { items: items.map(toRest), ...toRest(page) },
        }),
      },
    ],
  }),

  get: query({
    access: 'read',
    input: idRequestSchema,
    output: alertSchema,
    run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.get(id)),
  }),

  ack: mutation({
    access: 'act',
    input: ackRequestSchema,
    output: ackedAlertsSchema,
    async run(ctx, { id, ids = [] }) {
      const { alerts } = ctx.control
      const acked =
        id === undefined ? await alerts.ackAll(ids, actorOf(ctx)) : [await alerts.ack(id, actorOf(ctx))]
      await ctx.delivery.acknowledge(acked)
      const now = await ctx.store.now()
      const [first, ...others] = acked.map((row) => showAlert(row, now))
      if (first) return { ...first, alerts: [first, ...others] }
      const hint = 'Nothing to do: read the list of alerts again.'
      throw new OncueError('INVALID_STATE', 'None of these alerts is firing', { hint })
    },
    audit: (target, { alerts }) => ({ target, count: alerts.length }),
    rest: [
      {
        at: 'POST /api/alerts/:id/ack',
        summary: 'Acknowledge an alert: no more notifications until it is resolved',
        params: { id: jobIdSchema },
        responses: { 200: restAlertSchema },
        errors: ['ALERT_NOT_FOUND', 'INVALID_STATE'],
        respond: ({ alerts: _, ...alert }) => ({ status: 200, body: toRest(alert) }),
      },
    ],
  }),

  unack: mutation({
    access: 'act',
    input: idRequestSchema,
    output: alertSchema,
    run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.unack(id)),
    audit: (target) => ({ target, count: 1 }),
  }),

  snooze: mutation({
    access: 'act',
    input: snoozeRequestSchema,
    output: alertSchema,
    run: async (ctx, { id, until }) => show(ctx, await ctx.control.alerts.snooze(id, until, actorOf(ctx))),
    audit: (target) => ({ target, count: 1 }),
  }),

  unsnooze: mutation({
    access: 'act',
    input: idRequestSchema,
    output: alertSchema,
    run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.unsnooze(id)),
    audit: (target) => ({ target, count: 1 }),
  }),

  /** Each message has all open alerts, so a client that reconnects starts with the next one. */
  watch: subscription({
    access: 'read',
    input: resumeRequestSchema,
    output: z.array(alertSchema),
    async *watch({ live }, _, signal) {
      for await (const { now, alerts } of live.alerts.watch(signal))
        yield { id: String(now.getTime()), message: alerts }
    },
  }),

  rules: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(alertRuleSchema),
    run: async ({ control }) => (await control.alertRules.list()).map(showRule),
  }),

  createRule: mutation({
    access: 'admin',
    input: createAlertRuleRequestSchema,
    output: createdAlertRuleSchema,
    async run(ctx, { forSeconds, ...rule }) {
      const created = await ctx.control.alertRules.create(
        { ...rule, forMs: forSeconds * 1_000 },
        actorOf(ctx),
      )
      return { ...showRule(created), warning: await warningOf(ctx.store, created) }
    },
    audit: (rule, { id }) => ({ target: { id, ...rule }, count: 1 }),
  }),

  updateRule: mutation({
    access: 'admin',
    input: updateAlertRuleRequestSchema,
    output: alertRuleSchema,
    async run(ctx, { id, forSeconds, ...change }) {
      const forMs = forSeconds === undefined ? undefined : forSeconds * 1_000
      return showRule(await ctx.control.alertRules.update(id, { ...change, forMs }, actorOf(ctx)))
    },
    audit: (target) => ({ target, count: 1 }),
  }),

  deleteRule: mutation({
    access: 'admin',
    input: idRequestSchema,
    output: z.null(),
    async run(ctx, { id }) {
      await ctx.control.alertRules.delete(id, actorOf(ctx))
      return null
    },
    audit: (target) => ({ target, count: 1 }),
  }),
}

/** A queue or topic may be used later, so the rule is made; most unknown ones are typing errors. */
async function warningOf(store: Store, { queue, topic }: AlertRuleRow): Promise<string | null> {
  if (queue !== null && !(await isKnown(store, queue)))
    return `No job was ever in a queue ${queue}, and no worker serves it: check its name`
  if (topic !== null && !(await store.topics()).some((known) => known.topic === topic))
    return `No worker has announced a topic ${topic}: check its name`
  return null
}

async function isKnown(store: Store, queue: string): Promise<boolean> {
  if ((await store.queues()).some((known) => known.queue === queue)) return true
  return (await store.workers()).some(({ queues }) => queues.includes(queue))
}

async function show({ store }: ApiContext, row: AlertRow) {
  return showAlert(row, await store.now())
}

function showRule({ forMs, ...rule }: AlertRuleRow): AlertRule {
  return { ...rule, forSeconds: Math.round(forMs / 1_000) }
}
