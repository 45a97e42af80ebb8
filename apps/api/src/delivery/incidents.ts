import type { ChannelRow } from '@oncue/db'
import type { AlertMessage, Sent } from './alert-message.ts'
import type { Outcome } from './outcome.ts'
import { shorten } from './shorten.ts'
import { type Content, type Means, sendContent } from './webhook.ts'

/** Where the services are; others in tests, and Opsgenie's in the EU. */
export interface IncidentUrls {
  readonly pagerDuty: string
  readonly opsgenie: string
}

type Group = AlertMessage['groups'][number]
type Action = 'trigger' | 'acknowledge' | 'resolve'

/** The limits of the services. */
const PAGERDUTY_SUMMARY = 1_024
const OPSGENIE_MESSAGE = 130
const OPSGENIE_DESCRIPTION = 15_000

/**
 * PagerDuty and Opsgenie keep an incident for each group of alerts: it is opened, acknowledged and closed under the group's
 * id.
 */
export async function sendToIncidents(
  channel: ChannelRow,
  sent: Sent,
  urls: IncidentUrls,
  means: Means,
): Promise<Outcome> {
  const contentOf = channel.kind === 'pagerduty' ? toPagerDuty(urls.pagerDuty) : toOpsgenie(urls.opsgenie)
  for (const group of groupsOf(sent)) {
    for (const action of actionsOf(group, sent)) {
      const outcome = await sendContent(contentOf(channel.secret ?? '', action, group, sent), means)
      if (outcome.kind !== 'delivered') return outcome
    }
  }
  return { kind: 'delivered' }
}

/** A test is an incident of its own. */
function groupsOf({ id, message }: Sent): readonly Group[] {
  if (message.type !== 'test') return message.groups
  return [{ id: `test-${id}`, action: 'trigger', summary: `Test: ${message.summary}`, path: message.path }]
}

/** A test does not stay open. An acknowledged incident is closed first: triggering it again would notify no one. */
function actionsOf({ action }: Group, { message }: Sent): readonly Action[] {
  if (message.type === 'test') return ['trigger', 'resolve']
  if (action === 'retrigger') return ['resolve', 'trigger']
  return action === null ? [] : [action]
}

const keyOf = ({ id }: Group) => `oncue:${id}`
const linkOf = ({ path }: Group, { publicUrl }: Sent) => (publicUrl === null ? null : publicUrl + path)

const titleOf = ({ summary }: Group, { environment }: Sent) =>
  `${environment === null ? '' : `[${environment}] `}${summary}`

/** Events API v2. */
function toPagerDuty(base: string) {
  return (key: string, action: Action, group: Group, sent: Sent): Content => {
    const { environment, message } = sent
    const link = linkOf(group, sent)
    const event = {
      routing_key: key,
      event_action: action,
      dedup_key: keyOf(group),
      ...(action === 'trigger' && {
        payload: {
          summary: shorten(titleOf(group, sent), PAGERDUTY_SUMMARY),
          source: `oncue${environment === null ? '' : ` ${environment}`}`,
          severity: message.type === 'test' ? 'info' : 'critical',
          timestamp: message.at,
        },
        client: 'Oncue',
        ...(link !== null && { client_url: link }),
      }),
    }
    return { url: new URL(`${base}/v2/enqueue`), body: JSON.stringify(event) }
  }
}

function toOpsgenie(base: string) {
  return (key: string, action: Action, group: Group, sent: Sent): Content => {
    const { message } = sent
    const link = linkOf(group, sent)
    const headers = { authorization: `GenieKey ${key}` }
    const alias = keyOf(group)
    if (action !== 'trigger') {
      const verb = action === 'resolve' ? 'close' : 'acknowledge'
      const path = `/v2/alerts/${encodeURIComponent(alias)}/${verb}?identifierType=alias`
      return { url: new URL(base + path), headers, body: JSON.stringify({ source: 'Oncue' }) }
    }
    const alert = {
      message: shorten(titleOf(group, sent), OPSGENIE_MESSAGE),
      alias,
      description: shorten(`${group.summary}${link === null ? '' : `\n${link}`}`, OPSGENIE_DESCRIPTION),
      source: 'Oncue',
      priority: message.type === 'test' ? 'P5' : 'P1',
    }
    return { url: new URL(`${base}/v2/alerts`), headers, body: JSON.stringify(alert) }
  }
}
