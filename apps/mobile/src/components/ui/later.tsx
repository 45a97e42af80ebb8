import { type ComponentType, lazy, type ReactNode, Suspense } from 'react'

/** A component that a browser loads when it is first shown. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  fallback: ReactNode,
): ComponentType<Props> {
  const Loaded = lazy(async () => ({ default: await load() }))
  return (props) => (
    <Suspense fallback={fallback}>
      <Loaded {...props} />
    </Suspense>
  )
}
