import {
  type AlertRule,
  alertPageSchema,
  alertRuleSchema,
  alertSchema,
  createAlertRuleRequestSchema,
  idRequestSchema,
  listAlertsRequestSchema,
  resumeRequestSchema,
  snoozeRequestSchema,
  updateAlertRuleRequestSchema,
} from '@oncue/core/wire'
import type { AlertRow, AlertRuleRow } from '@oncue/db'
import { z } from 'zod'
import { showAlert } from '../alerts/show.ts'
import type { ApiContext } from '../context.ts'
import { actorOf } from './actor.ts'
import { changing, reading, watching } from './procedure.ts'

export const list = reading({
  name: 'alerts.list',
  access: 'read',
  input: listAlertsRequestSchema.default({ limit: 50 }),
  output: alertPageSchema,
  async run({ store, control }, { limit, cursor, ...filter }) {
    const [now, page] = await Promise.all([store.now(), control.alerts.list(filter, { limit, cursor })])
    return { ...page, items: page.items.map((row) => showAlert(row, now)) }
  },
})

export const get = reading({
  name: 'alerts.get',
  access: 'read',
  input: idRequestSchema,
  output: alertSchema,
  run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.get(id)),
})

export const ack = changing({
  name: 'alerts.ack',
  access: 'act',
  input: idRequestSchema,
  output: alertSchema,
  run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.ack(id, actorOf(ctx))),
  note: (target) => ({ target, count: 1 }),
})

export const unack = changing({
  name: 'alerts.unack',
  access: 'act',
  input: idRequestSchema,
  output: alertSchema,
  run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.unack(id)),
  note: (target) => ({ target, count: 1 }),
})

export const snooze = changing({
  name: 'alerts.snooze',
  access: 'act',
  input: snoozeRequestSchema,
  output: alertSchema,
  run: async (ctx, { id, until }) => show(ctx, await ctx.control.alerts.snooze(id, until, actorOf(ctx))),
  note: (target) => ({ target, count: 1 }),
})

export const unsnooze = changing({
  name: 'alerts.unsnooze',
  access: 'act',
  input: idRequestSchema,
  output: alertSchema,
  run: async (ctx, { id }) => show(ctx, await ctx.control.alerts.unsnooze(id)),
  note: (target) => ({ target, count: 1 }),
})

/** Each message is all that is open, so whoever comes back starts with the next one. */
export const watch = watching({
  name: 'alerts.watch',
  access: 'read',
  input: resumeRequestSchema,
  output: z.array(alertSchema),
  async *watch({ live }, _, signal) {
    for await (const { now, alerts } of live.alerts.watch(signal))
      yield { id: String(now.getTime()), message: alerts }
  },
})

export const rules = reading({
  name: 'alerts.rules',
  access: 'read',
  input: z.undefined(),
  output: z.array(alertRuleSchema),
  run: async ({ control }) => (await control.alertRules.list()).map(showRule),
})

export const createRule = changing({
  name: 'alerts.createRule',
  access: 'admin',
  input: createAlertRuleRequestSchema,
  output: alertRuleSchema,
  async run(ctx, { forSeconds, ...rule }) {
    return showRule(await ctx.control.alertRules.create({ ...rule, forMs: forSeconds * 1_000 }, actorOf(ctx)))
  },
  note: (rule, { id }) => ({ target: { id, ...rule }, count: 1 }),
})

export const updateRule = changing({
  name: 'alerts.updateRule',
  access: 'admin',
  input: updateAlertRuleRequestSchema,
  output: alertRuleSchema,
  async run(ctx, { id, forSeconds, ...change }) {
    const forMs = forSeconds === undefined ? undefined : forSeconds * 1_000
    return showRule(await ctx.control.alertRules.update(id, { ...change, forMs }, actorOf(ctx)))
  },
  note: (target) => ({ target, count: 1 }),
})

export const deleteRule = changing({
  name: 'alerts.deleteRule',
  access: 'admin',
  input: idRequestSchema,
  output: z.null(),
  async run(ctx, { id }) {
    await ctx.control.alertRules.delete(id, actorOf(ctx))
    return null
  },
  note: (target) => ({ target, count: 1 }),
})

async function show({ store }: ApiContext, row: AlertRow) {
  return showAlert(row, await store.now())
}

function showRule({ forMs, ...rule }: AlertRuleRow): AlertRule {
  return { ...rule, forSeconds: Math.round(forMs / 1_000) }
}
