import { FlatList, RefreshControl, StyleSheet } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { usePages } from '../../lib/api.tsx'
import { space } from '../../theme/tokens.ts'
import { BulkOperationRow } from './bulk-operation-row.tsx'
import { allBulkOperations } from './queries.ts'

/** All bulk operations, the newest first. */
export function BulkOperationsScreen() {
  const read = usePages(allBulkOperations)
  const items = read.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Page title="Bulk operations" parent="/settings" isList>
      <ReadState
        read={read}
        isEmpty={() => items.length === 0}
        empty={{
          icon: 'requeue',
          title: 'No bulk operations yet',
          text: 'Retries, cancellations and deletions of many jobs appear here.',
        }}
      >
        {() => (
          <FlatList
            data={items}
            keyExtractor={({ id }) => id}
            renderItem={({ item }) => <BulkOperationRow operation={item} />}
            onEndReached={() => {
              if (read.hasNextPage && !read.isFetchingNextPage) void read.fetchNextPage()
            }}
            refreshControl={<RefreshControl refreshing={false} onRefresh={() => void read.refetch()} />}
            contentContainerStyle={styles.list}
          />
        )}
      </ReadState>
    </Page>
  )
}

const styles = StyleSheet.create({ list: { paddingBottom: space.xxxl } })
