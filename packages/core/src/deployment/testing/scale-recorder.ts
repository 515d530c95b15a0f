import type { Machine } from '@mcm/api';
import type { Informer } from '@mcm/kube';

export class ScaleRecorder {
  readonly created: string[] = [];
  readonly deleted: string[] = [];

  constructor(truth: Informer<Machine>) {
    const known = new Set(truth.store.list().map(({ metadata }) => metadata.uid));
    const going = new Set<string>();
    truth.onChange(({ type, object: { metadata } }) => {
      if (type === 'deleted') return;
      if (!known.has(metadata.uid)) this.created.push(metadata.name);
      known.add(metadata.uid);
      if (metadata.deletionTimestamp === undefined || going.has(metadata.uid)) return;
      going.add(metadata.uid);
      this.deleted.push(metadata.name);
    });
  }
}
