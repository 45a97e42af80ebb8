import * as Haptics from 'expo-haptics'
import { getPreference } from './preferences.ts'

/** Vibrates when an action succeeded or failed. */
export function felt(how: 'done' | 'refused' | 'held'): void {
  if (!getPreference('haptics')) return
  const feedback =
    how === 'held'
      ? Haptics.impactAsync(Haptics.ImpactFeedbackStyle.Medium)
      : Haptics.notificationAsync(
          how === 'done' ? Haptics.NotificationFeedbackType.Success : Haptics.NotificationFeedbackType.Error,
        )
  feedback.catch(() => {})
}
