import { createContext, type ReactNode, useContext, useMemo, useState } from 'react'

interface Crosshair {
  /** The moment that is looked at, in milliseconds; null: none. */
  readonly at: number | null
  readonly setAt: (at: number | null) => void
}

const CrosshairContext = createContext<Crosshair | null>(null)

/** All charts within show the same moment: where a pointer or the keys are in one of them. */
export function CrosshairProvider({ children }: { readonly children: ReactNode }) {
  const [at, setAt] = useState<number | null>(null)
  const crosshair = useMemo(() => ({ at, setAt }), [at])
  return <CrosshairContext.Provider value={crosshair}>{children}</CrosshairContext.Provider>
}

/** That of the page, or one of its own. */
export function useCrosshair(): Crosshair {
  const [at, setAt] = useState<number | null>(null)
  return useContext(CrosshairContext) ?? { at, setAt }
}
