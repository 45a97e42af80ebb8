import { type Client, isOncueError } from '@oncue/sdk'
import {
  MutationCache,
  QueryCache,
  QueryClient,
  QueryClientProvider,
  type QueryKey,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useIsFocused } from 'expo-router'
import { type ReactNode, useEffect, useMemo } from 'react'
import { useConnectionState } from './connection-provider.tsx'
import { useBudgeted } from './poll-budget.ts'
import { usePreference } from './preferences.ts'
import { type Session, useSession, useSessionState, useSignedIn } from './session.ts'

interface CallOptions {
  readonly signal: AbortSignal
}

/** A query to the API. Each feature has its own in `queries.ts`. */
export interface Read<Data> {
  /** Begins with the procedure: `['jobs.list', filter]`. */
  readonly key: QueryKey
  readonly call: (client: Client, options: CallOptions) => Promise<Data>
  /** How often it is repeated while its screen is visible. Absent: only when an action touches it. */
  readonly everyMs?: number
  readonly enabled?: boolean
  /** Fetched once and never refreshed, so that a decision rests on the numbers that were shown. */
  readonly isFixed?: boolean
}

/** Old data stays while newer data is fetched. Pass the result to `<ReadState>`. */
export function useRead<Data>(read: Read<Data>): UseQueryResult<Data> {
  const { client } = useSignedIn()
  useTimesAnew()
  return useQuery({
    queryKey: read.key,
    queryFn: ({ signal }) => read.call(client, { signal }),
    refetchInterval: useInterval(read.everyMs),
    enabled: read.enabled ?? true,
    ...(read.isFixed && { staleTime: 'static' as const }),
  })
}

/** Several reads at once, each with its own result. */
export function useReads<Data>(reads: readonly Read<Data>[]): UseQueryResult<Data>[] {
  const { client } = useSignedIn()
  return useQueries({
    queries: reads.map(({ key, call, enabled = true, isFixed }) => ({
      queryKey: key,
      queryFn: ({ signal }: CallOptions) => call(client, { signal }),
      enabled,
      ...(isFixed && { staleTime: 'static' as const }),
    })),
  })
}

/** A paged query with a cursor. */
export interface PagedRead<Item> {
  readonly key: QueryKey
  readonly call: (
    client: Client,
    options: CallOptions & { readonly cursor: string | undefined },
  ) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>
  readonly everyMs?: number
  /** Refreshed only when an action touches it, since every loaded page would be one request. */
  readonly isStill?: boolean
}

export function usePages<Item>(read: PagedRead<Item>) {
  const { client } = useSignedIn()
  useTimesAnew()
  return useInfiniteQuery({
    queryKey: read.key,
    queryFn: ({ signal, pageParam }) => read.call(client, { signal, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: useInterval(read.isStill ? undefined : read.everyMs),
    ...(read.isStill && { staleTime: Number.POSITIVE_INFINITY }),
  })
}

/** What shows something of the server shows times: drawn again when their zone is changed. */
function useTimesAnew(): void {
  usePreference('times')
}

function useInterval(everyMs: number | undefined): number | false {
  const { phase } = useConnectionState()
  const isLookedAt = useIsFocused()
  const isFollowing = phase !== 'paused' && phase !== 'offline'
  return useBudgeted(everyMs !== undefined && isLookedAt && isFollowing ? everyMs : false)
}

export interface Act<Input, Output> {
  readonly run: (input: Input) => Promise<Output>
  readonly isRunning: boolean
}

/**
 * Something that changes something. It is sent once, now or never: nothing is repeated, and nothing waits for the
 * network to come back. `touches` names the reads that are asked anew, by the beginning of their keys: what
 * succeeded counts as running until they are there, but who called hears of the answer at once.
 */
export function useAct<Input, Output>(
  call: (client: Client, input: Input) => Promise<Output>,
  { touches = [] }: { readonly touches?: readonly string[] } = {},
): Act<Input, Output> {
  const { client } = useSignedIn()
  const queries = useQueryClient()
  const readAnew = () => Promise.all(touches.map((name) => queries.invalidateQueries({ queryKey: [name] })))
  const { mutate, isPending } = useMutation({
    mutationFn: (send: () => Promise<void>) => send(),
    onSuccess: readAnew,
    // Whether it was done is not known, but it can be tried again at once.
    onError: () => void readAnew(),
  })
  const run = (input: Input) =>
    new Promise<Output>((resolve, reject) => {
      mutate(() =>
        call(client, input).then(resolve, (error: unknown) => {
          reject(error)
          throw error
        }),
      )
    })
  return { run, isRunning: isPending }
}

/** Why nothing can be done now; null: go ahead. What is locked stays visible, with this reason. */
export function useLock(access: 'act' | 'admin' | 'edit' | 'enqueue' = 'act'): string | null {
  const { me } = useSignedIn()
  const { phase } = useConnectionState()
  if (phase === 'offline') return 'You are offline. Actions are disabled until you reconnect.'
  if (me && !me.may.includes(access)) {
    const needed = access === 'admin' || access === 'edit' ? 'Admins' : 'Operators and admins'
    return `${me.role ? `You are ${/^[ao]/.test(me.role) ? 'an' : 'a'} ${me.role}` : 'You are not signed in'}. ${needed} can do this.`
  }
  return null
}

/** A separate cache for each server and session, so that data of another one is never shown. */
export function ApiProvider({ children }: { readonly children: ReactNode }) {
  const session = useSession()
  const state = useSessionState()
  const client = state.status === 'signed-in' ? state.client : null
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new client means a new cache.
  const queries = useMemo(() => createQueryClient(session), [session, client])
  useEffect(() => () => queries.clear(), [queries])
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>
}

function createQueryClient(session: Pick<Session, 'expire'>): QueryClient {
  const onError = (error: unknown) => {
    if (isOncueError(error, 'UNAUTHORIZED')) session.expire()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      // The SDK's client already retries what may be retried.
      queries: { networkMode: 'always', retry: false, staleTime: 2_000 },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}
