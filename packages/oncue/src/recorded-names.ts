import type { JobDetails, Outcome } from '@oncue/db'
import type { NameKind } from './code-names.ts'

/** What a later run of the job will look for: each name once. */
export function usedNames({ waits }: JobDetails, outcomes: readonly Outcome[]): [NameKind, string][] {
  const used = [...outcomes.flatMap(namesOfOutcome), ...(waits?.for ?? []).flatMap(namesOfWait)]
  return [...new Map(used.map((each) => [each.join(':'), each])).values()]
}

function namesOfOutcome({ key, kind, name, data }: Outcome): [NameKind, string][] {
  if (kind === 'wait') return namesOfKey(key.slice('wait:'.length))
  switch (kind) {
    case 'signal':
      return name === null ? [] : [['receive', name]]
    case 'spawn':
      return Object.keys((data ?? {}) as object).flatMap(namesOfKey)
    default:
      return namesOfKey(key)
  }
}

/** `step:charge`, `retry:charge#1`, `receive:bank#2`. A wait for children has no name of its own. */
export function namesOfKey(key: string): [NameKind, string][] {
  const colon = key.indexOf(':')
  const name = key.slice(colon + 1)
  switch (key.slice(0, colon)) {
    case 'step':
      return [['step', name]]
    case 'retry':
      return [['step', name.replace(/#\d+$/, '')]]
    case 'sleep':
      return [['sleep', name]]
    case 'receive':
      return [['receive', name.replace(/#\d+$/, '')]]
    case 'ask':
      return [['ask', name]]
    case 'since':
      return [['since', name]]
    case 'spawn':
      return [['spawn', name]]
    case 'enqueue':
      return [['enqueue', name]]
    case 'undo':
    case 'undone':
      return [['undo', name]]
    case 'undo_retry':
      return [['undo', name.replace(/#\d+$/, '')]]
    default:
      return []
  }
}

function namesOfWait({ kind, name }: NonNullable<JobDetails['waits']>['for'][number]): [NameKind, string][] {
  if (kind === 'signal') return [['receive', name]]
  return kind === 'ask' ? [['ask', name]] : []
}
