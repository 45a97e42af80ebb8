import { useLocalSearchParams, useRouter } from 'expo-router'

/** How far back; as in the address: `/failures?window=1h&queue=mail`. */
export const WINDOWS = {
  '1h': { label: '1 h', ms: 3_600_000, words: 'the last hour' },
  '24h': { label: '24 h', ms: 24 * 3_600_000, words: 'the last 24 hours' },
  '7d': { label: '7 d', ms: 7 * 24 * 3_600_000, words: 'the last 7 days' },
} as const

export type WindowName = keyof typeof WINDOWS

export const WINDOW_OPTIONS = Object.entries(WINDOWS).map(([value, { label }]) => ({
  ...{ value: value as WindowName, label },
}))

export interface FailureFilter {
  readonly window: WindowName
  readonly queue: string | undefined
  readonly topic: string | undefined
  /** Part of the class or message. */
  readonly text: string | undefined
  readonly sort: 'latest' | 'largest'
}

const isWindow = (name: unknown): name is WindowName => typeof name === 'string' && name in WINDOWS

/** The filter lives in the address: it survives a reload, a link, and whatever was done in between. */
export function useFailureFilter() {
  const router = useRouter()
  const { window, queue, topic, text, sort } =
    useLocalSearchParams<Partial<Record<keyof FailureFilter, string>>>()
  const filter: FailureFilter = {
    window: isWindow(window) ? window : '24h',
    queue: queue || undefined,
    topic: topic || undefined,
    text: text || undefined,
    sort: sort === 'largest' ? 'largest' : 'latest',
  }
  return {
    filter,
    change: (next: Partial<FailureFilter>) => router.setParams(next),
    clear: () => router.setParams({ window: undefined, queue: undefined, topic: undefined, text: undefined }),
  }
}

/** The parts that differ from the defaults, to be kept in the address of the next page. */
export function paramsOf({ window, queue, topic, text, sort }: FailureFilter): Record<string, string> {
  return {
    ...(window !== '24h' && { window }),
    ...(queue !== undefined && { queue }),
    ...(topic !== undefined && { topic }),
    ...(text !== undefined && { text }),
    ...(sort !== 'latest' && { sort }),
  }
}
