import { StyleSheet, View } from 'react-native'
import { later } from '../components/ui/later.tsx'
import { Skeleton } from '../components/ui/skeleton.tsx'
import { space } from '../theme/tokens.ts'

const styles = StyleSheet.create({ page: { paddingHorizontal: space.l } })

/** The charts of Now bring their own margins. */
const OnPage = () => (
  <View style={styles.page}>
    <Skeleton height={540} />
  </View>
)

const charts = () => import('./charts.ts')

export const FailureChart = later(async () => (await charts()).FailureChart, <Skeleton height={220} />)
export const NowCharts = later(async () => (await charts()).NowCharts, <OnPage />)
export const QueueCharts = later(async () => (await charts()).QueueCharts, <Skeleton height={540} />)
