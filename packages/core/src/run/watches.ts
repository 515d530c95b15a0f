import { type Key, keyOf } from '@mcm/kube';
import { orphanKeysOf } from '../safety/orphans/orphans.ts';
import type { Controllers } from './controllers.ts';
import type { Parts } from './parts.ts';
import { classMatters, classOfMachine, isNewOrGoes, releases, secretsOfClass } from './relevance.ts';

/** After each change of an object, the controllers reconcile the affected objects. */
export function watchCaches(controllers: Controllers, parts: Parts): void {
  watchMachines(controllers, parts);
  const { caches } = parts;
  const { machineClass, secret, orphan } = controllers;
  machineClass.watch(caches.classes, (change) => [change.key]);
  machineClass.watch(caches.machines, classOfMachine);
  machineClass.watch(caches.secrets, (change) => caches.classes.store.byIndex('secret', change.key).map(keyOf));
  secret.watch(caches.secrets, (change) => [change.key]);
  secret.watch(caches.classes, secretsOfClass);
  orphan.watch(caches.secrets, () => []);
  if (caches.target) orphan.watch(caches.target.nodes, () => []);
  orphan.watch(caches.machines, orphanKeysOf);
  orphan.watch(caches.classes, (change) =>
    releases(change) ? caches.classes.store.list().map(keyOf) : isNewOrGoes(change) ? [change.key] : [],
  );
}

function watchMachines({ machine }: Controllers, { caches, wakes, calls, memories, pace }: Parts): void {
  // After an outage of a watch, the controller reconciles all machines, because the watch missed changes.
  const all = (): readonly Key[] => caches.machines.store.list().map(keyOf);
  machine.watch(caches.machines, (change) => {
    if (change.type === 'deleted') {
      calls.forget(change.object.metadata.uid);
      memories.forget(change.object.metadata.uid);
      caches.drains?.release(change.object.metadata.uid);
      pace?.moves(change.object.metadata.uid, new Map());
      pace?.waits(change.key, []);
    }
    return wakes.machine(change);
  });
  machine.watch(
    caches.classes,
    (change) => (classMatters(change) ? wakes.ofClass(change.object.metadata.name) : []),
    all,
  );
  machine.watch(
    caches.secrets,
    (change) =>
      caches.classes.store.byIndex('secret', change.key).flatMap(({ metadata }) => wakes.ofClass(metadata.name)),
    all,
  );
  if (!caches.target) return;
  machine.watch(caches.target.nodes, wakes.node, all);
  machine.watch(caches.target.pods, wakes.pod, all);
  machine.watch(caches.target.budgets, wakes.budget, all);
  machine.watch(caches.target.attachments, wakes.attachment, all);
  machine.watch(caches.target.claims, () => [], all);
  machine.watch(caches.target.volumes, () => [], all);
}

/**
 * After a restore of the API server, data about objects in memory may be wrong, so the controller discards the data.
 */
export function startOverAfterRestore({ machine }: Controllers, { caches, inherited, calls, memories }: Parts): void {
  caches.machines.onDoubt(() => {
    if (caches.machines.doubted) return;
    const known = caches.machines.store.list();
    inherited.takeAll(known.map(({ metadata }) => metadata.uid));
    calls.startOver();
    memories.startOver();
    for (const one of known) machine.enqueue(keyOf(one));
  });
}
