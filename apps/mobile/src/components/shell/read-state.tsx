import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useIsOffline } from '../../lib/connection-provider.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button } from '../ui/button.tsx'
import { describeProblem } from '../ui/describe-problem.ts'
import { EmptyState, type EmptyStateProps } from '../ui/empty-state.tsx'
import { ErrorState } from '../ui/error-state.tsx'
import { SkeletonRows } from '../ui/skeleton.tsx'
import { NothingToChoose } from './split.tsx'

export interface ReadStateProps<Data> {
  readonly read: Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>
  readonly children: (data: Data) => ReactNode
  readonly isEmpty?: (data: Data) => boolean
  /** Nothing there, and all is well. */
  readonly empty?: EmptyStateProps
  /** Clears the filter that left nothing to show. */
  readonly onClearFilter?: (() => void) | undefined
  readonly skeleton?: ReactNode
}

/**
 * Every state of a screen, once: first load, old data while a newer answer is fetched, healthy and empty, emptied by
 * a filter, an error over old data, an error instead of data. Offline is said once, by the shell; signed out is
 * handled by the gate.
 */
export function ReadState<Data>(props: ReadStateProps<Data>) {
  const { read, children, isEmpty, empty, onClearFilter, skeleton = <SkeletonRows /> } = props
  const { data, error } = read
  const isOffline = useIsOffline()
  const retry = () => void read.refetch()
  // At once: a skeleton would promise that something is coming.
  if (data === undefined && isOffline) return <EmptyState {...NOT_LOADED} />
  if (data === undefined) return error ? <ErrorState error={error} onRetry={retry} /> : skeleton
  const isNothing = isEmpty?.(data) ?? false
  return (
    <>
      {error && !isOffline && <StaleBanner error={error} onRetry={retry} />}
      {isNothing && <NothingToChoose />}
      {isNothing && onClearFilter && (
        <EmptyState
          icon="filter"
          title="Nothing matches"
          text="Clear the filter to see more."
          action={{ label: 'Clear filter', onPress: onClearFilter }}
        />
      )}
      {isNothing && !onClearFilter && empty && <EmptyState {...empty} />}
      {!isNothing && children(data)}
    </>
  )
}

/** The offline banner says why. */
const NOT_LOADED: EmptyStateProps = {
  icon: 'offline',
  title: 'Not loaded',
  text: 'This page loads when the server responds.',
}

function StaleBanner({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }) {
  const { title, text, icon } = describeProblem(error)
  return (
    <Banner
      tone="warn"
      icon={icon}
      text={`${title}: data may be out of date`}
      detail={text}
      action={<Button label="Retry" onPress={onRetry} />}
    />
  )
}
