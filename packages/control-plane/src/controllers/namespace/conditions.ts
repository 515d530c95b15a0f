import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import type { ServedResource } from '../discovery/directory.ts';

export interface Content {
  readonly resource: ServedResource;
  readonly objects: readonly ApiObject[];
}

const qualified = ({ plural, group }: ServedResource): string => `${plural}.${group}`;

const instances = (count: number): string => `${count} resource instances`;

function remainingMessage(content: readonly Content[]): string {
  const parts = content.map(({ resource, objects }) => `${qualified(resource)} has ${instances(objects.length)}`);
  return `Some resources are remaining: ${parts.sort().join(', ')}`;
}

function finalizersMessage(content: readonly Content[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { objects } of content) {
    for (const { metadata } of objects) {
      for (const finalizer of metadata.finalizers ?? []) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return undefined;
  const parts = [...counts].map(([finalizer, count]) => `${finalizer} in ${instances(count)}`);
  return `Some content in the namespace has finalizers remaining: ${parts.sort().join(', ')}`;
}

const failuresMessage = (failures: readonly string[]): string =>
  `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`;

export function terminationConditions(
  namespace: ApiObject,
  content: readonly Content[],
  failures: readonly string[],
  now: Date,
): Plain[] {
  const finalizers = finalizersMessage(content);
  const remain = content.length > 0;
  const rows: readonly (readonly [type: string, status: boolean, reason: string, message: string])[] = [
    ['NamespaceDeletionDiscoveryFailure', false, 'ResourcesDiscovered', 'All resources successfully discovered'],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    failures.length > 0
      ? ['NamespaceDeletionContentFailure', true, 'ContentDeletionFailed', failuresMessage(failures)]
      : [
          'NamespaceDeletionContentFailure',
          false,
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        ],
    remain
      ? ['NamespaceContentRemaining', true, 'SomeResourcesRemain', remainingMessage(content)]
      : ['NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed'],
    finalizers !== undefined
      ? ['NamespaceFinalizersRemaining', true, 'SomeFinalizersRemain', finalizers]
      : ['NamespaceFinalizersRemaining', false, 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
  ];
  const old = items(look(namespace, 'status'), 'conditions');
  return rows.map(([type, holds, reason, message]) => {
    const status = holds ? 'True' : 'False';
    const before = old.find((condition) => condition.type === type);
    const since = before?.status === status ? before.lastTransitionTime : formatTime(now);
    return { type, status, lastTransitionTime: since, reason, message };
  });
}
