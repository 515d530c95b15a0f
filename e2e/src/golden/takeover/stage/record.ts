import type { KubeObject } from '@mcm/kube';
import type { Recorded } from '../recordings/recording.ts';
import type { Stage } from './stage.ts';

export interface UserAction {
  readonly at: number;
  readonly after: string;
  act(stage: Stage): Promise<void>;
}

const LOOK_EVERY_S = 0.4;

/** Records histories of mcm in the format of the recordings. */
export async function record(stage: Stage, actions: readonly UserAction[], until: number): Promise<string> {
  const states: object[] = [];
  const known = new Map<string, string>();
  let after = '';
  const look = async (): Promise<void> => {
    const all: KubeObject[] = [
      ...(await stage.objects()),
      ...(await stage.events()).map((event) => ({ ...event, kind: 'Event' })),
    ];
    const keyOf = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name}`;
    const now = new Map(all.map((object) => [keyOf(object), object]));
    const changed = all.filter((object) => known.get(keyOf(object)) !== versionOf(object));
    const gone = [...known.keys()].filter((key) => !now.has(key));
    known.clear();
    for (const [key, object] of now) known.set(key, versionOf(object));
    if (changed.length > 0 || gone.length > 0)
      states.push({ at: stage.seconds, after, changed: changed.map(withoutManagedFields), gone });
  };
  const waiting = [...actions];
  while (stage.seconds < until) {
    const next = waiting[0];
    if (next && stage.seconds >= next.at) {
      after = next.after;
      await next.act(stage);
      waiting.shift();
      await stage.clock.advance(50);
    } else await stage.clock.advance(LOOK_EVERY_S * 1_000);
    await look();
  }
  return JSON.stringify({ scenario: 'own', states });
}

const versionOf = ({ metadata: { uid, resourceVersion } }: KubeObject): string => `${uid}/${resourceVersion}`;

function withoutManagedFields(object: KubeObject): Recorded {
  const { managedFields: _left, ...metadata } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown };
  const apiVersion = object.kind.startsWith('Machine') ? 'machine.sapcloud.io/v1alpha1' : 'v1';
  return { ...object, apiVersion: object.apiVersion ?? apiVersion, metadata };
}
