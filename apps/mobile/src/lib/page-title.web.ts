import { useQueryClient } from '@tanstack/react-query'
import { useIsFocused } from 'expo-router'
import { useEffect } from 'react'
import { HEALTH_KEY, type Health, useIsOffline } from './connection-provider.tsx'
import { titleOf } from './title.ts'

/** Sets the window's title: first whether something is wrong, "(2) mail late", and then the page. */
export function usePageTitle(title: string | null): void {
  const isFocused = useIsFocused()
  const queries = useQueryClient()
  const isOffline = useIsOffline()
  useEffect(() => {
    if (!isFocused || title === null) return
    const write = () => {
      document.title = titleOf(title, queries.getQueryData<Health>(HEALTH_KEY), isOffline)
    }
    write()
    return queries.getQueryCache().subscribe(({ query }) => {
      if (query.queryKey[0] === HEALTH_KEY[0]) write()
    })
  }, [isFocused, title, queries, isOffline])
}
