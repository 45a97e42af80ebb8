import { type ComponentType, lazy, type ReactNode, Suspense } from 'react'

/** A part that a browser loads when it is first drawn. Until then, `fallback`. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  fallback: ReactNode,
): ComponentType<Props> {
  const Part = lazy(async () => ({ default: await load() }))
  return (props) => (
    <Suspense fallback={fallback}>
      <Part {...props} />
    </Suspense>
  )
}
