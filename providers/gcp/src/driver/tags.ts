import { splitTagChanges, type TagChanges } from '@mcm/core/driver';
import { Refusal } from '../gce/refusal.ts';
import type { Subject } from './power.ts';

/**
 * The maximum number of attempts. If another program changes the labels between the read and the write, the driver
 * reads and writes again.
 */
const ATTEMPTS = 5;

/**
 * Sets and removes labels of an instance. Compute Engine replaces all labels, so the driver sends all labels with the
 * fingerprint of the labels that it has read.
 */
export async function changeLabels(subject: Subject, changes: TagChanges): Promise<void> {
  const { gce, project, zone, name, signal, wait } = subject;
  for (let attempt = 1; ; attempt++) {
    try {
      const { labels, fingerprint } = await gce.labels(project, zone, name, signal);
      const { set, remove } = splitTagChanges(changes, labels);
      if (Object.keys(set).length === 0 && remove.length === 0) return;
      const kept = Object.entries(labels).filter(([key]) => !remove.includes(key));
      const wanted = { ...Object.fromEntries(kept), ...set };
      await wait(await gce.setLabels(project, zone, name, { labels: wanted, fingerprint }, signal));
      return;
    } catch (thrown) {
      if (thrown instanceof Refusal && thrown.absent) return;
      if (!(thrown instanceof Refusal && thrown.status === 412) || attempt === ATTEMPTS) throw thrown;
    }
  }
}
