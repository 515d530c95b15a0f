import { Annotations, counted, type EventReason, Finalizers, type MachineClass, machineClasses } from '@mcm/api';
import {
  again,
  type Clock,
  done,
  type EventRecorder,
  ignoreNotFound,
  type Key,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Outcome,
  type ResourceDefinition,
  secrets,
  splitKey,
} from '@mcm/kube';
import type { Caches } from '../cluster/caches.ts';
import type { KeptVm, KeptVms } from '../evidence/kept-vms.ts';
import { ClassReports } from './class-reports.ts';
import type { FormerSpecs } from './former-spec.ts';

export interface ClassReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, 'machines' | 'classes' | 'secrets'>;
  readonly clock: Clock;
  readonly recorder: EventRecorder<EventReason>;
  readonly check: (machineClass: MachineClass) => readonly string[];
  readonly unknownFields: (machineClass: MachineClass) => readonly string[];
  readonly alternativeProblems: (machineClass: MachineClass) => readonly string[];
  readonly log: Logger;
  readonly former: FormerSpecs;
  readonly forget: (key: Key) => void;
  readonly keptVms?: Pick<KeptVms, 'list'>;
}

/** mcm does not watch the records of kept VMs, so it checks a class without machines at these intervals. */
const KEPT_RECHECK_MS = { unused: 3_600_000, deleted: 60_000 } as const;

/**
 * Decides whether an object gets or loses the finalizer. An object that is being deleted gets no finalizer, because the
 * API server refuses new finalizers on such objects.
 */
export function planFinalizer(object: KubeObject, finalizer: string, users: number): 'add' | 'remove' | 'leave' {
  const has = object.metadata.finalizers?.includes(finalizer) ?? false;
  if (users === 0) return has ? 'remove' : 'leave';
  return has || object.metadata.deletionTimestamp ? 'leave' : 'add';
}

/**
 * Writes the finalizers of an object. The request contains the observed resource version, so the API server refuses it
 * after a change by another client.
 */
async function writeFinalizer<T extends KubeObject>(
  client: KubeClient,
  definition: ResourceDefinition<T>,
  object: T,
  finalizer: string,
  verb: 'add' | 'remove',
): Promise<T | undefined> {
  const { name, namespace, uid, resourceVersion, finalizers = [] } = object.metadata;
  const others = finalizers.filter((other) => other !== finalizer);
  const wanted = verb === 'add' ? [...others, finalizer].sort() : others;
  const body = { metadata: { uid, resourceVersion, finalizers: wanted } };
  return ignoreNotFound(client.resource(definition, namespace).patch(name, { type: 'merge', body }));
}

/**
 * Keeps a class with a finalizer while machines refer to the class, including machines that are being deleted. Without
 * its class, mcm cannot delete the VM of a machine. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller/machineclass.go.
 */
export const createClassReconcile = (options: ClassReconcilerOptions) => {
  const { caches, former } = options;
  const reports = new ClassReports(options);
  const uids = new Map<Key, string>();
  return async (key: Key): Promise<Outcome> => {
    const seen = caches.classes.store.get(key);
    if (seen) await keepFormer(options, seen);
    const found = caches.classes.store.get(key);
    if (!found) {
      former.forget(uids.get(key) ?? '');
      uids.delete(key);
      options.forget(key);
      reports.forget(key);
      return done;
    }
    uids.set(key, found.metadata.uid);
    const outcome = found.metadata.deletionTimestamp ? done : reports.report(key, found);
    return keepWhileUsed(options, key, found, outcome);
  };
};

async function keepFormer(
  { client, caches, check, former }: ClassReconcilerOptions,
  machineClass: MachineClass,
): Promise<void> {
  const isValid = check(machineClass).length === 0;
  if (isValid) former.note(machineClass);
  const text = former.annotationFor(machineClass, isValid);
  if (text === undefined) return;
  const { name, namespace, uid, resourceVersion } = machineClass.metadata;
  const body = { metadata: { uid, resourceVersion, annotations: { [Annotations.FormerProviderSpec]: text } } };
  const classes = client.resource<MachineClass>(machineClasses, namespace);
  const answer = await ignoreNotFound(classes.patch(name, { type: 'merge', body }));
  if (answer) caches.classes.recordWrite(answer);
}

async function keepWhileUsed(
  options: ClassReconcilerOptions,
  key: Key,
  found: MachineClass,
  outcome: Outcome,
): Promise<Outcome> {
  const { client, caches, log, recorder, keptVms } = options;
  const users = caches.machines.store.countByIndex('classUsers', splitKey(key).name);
  const verb = planFinalizer(found, Finalizers.MachineControllerManager, users);
  if (found.metadata.deletionTimestamp && users > 0) {
    log.info('Deletion of MachineClass waits for the machines of the class', { class: key, machines: users });
    recorder.event(
      found,
      'Normal',
      'InUse',
      `The deletion of the class waits for ${counted(users, 'machine')} of the class`,
    );
  }
  if (verb === 'leave') return outcome;
  if (verb === 'remove') {
    const kept = (await keptVms?.list(found.metadata.name)) ?? [];
    if (kept.length > 0) return heldByKept(recorder, found, kept);
  }
  const finalizer = Finalizers.MachineControllerManager;
  const answer = await writeFinalizer<MachineClass>(client, machineClasses, found, finalizer, verb);
  if (answer) caches.classes.recordWrite(answer);
  return outcome;
}

function heldByKept(
  recorder: EventRecorder<EventReason>,
  machineClass: MachineClass,
  kept: readonly KeptVm[],
): Outcome {
  if (!machineClass.metadata.deletionTimestamp) return again(KEPT_RECHECK_MS.unused);
  const names = kept.map(({ providerID }) => providerID).join(', ');
  const text = `The deletion of the class waits until its kept VMs are deleted: ${names}`;
  recorder.event(machineClass, 'Normal', 'InUse', text);
  return again(KEPT_RECHECK_MS.deleted);
}

/**
 * Keeps a Secret with a finalizer while a class refers to the Secret. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller/secret.go.
 */
export const createSecretReconcile =
  ({ client, caches }: Pick<ClassReconcilerOptions, 'client' | 'caches'>) =>
  async (key: Key): Promise<Outcome> => {
    const found = caches.secrets.store.get(key);
    if (!found) return done;
    const verb = planFinalizer(found, Finalizers.Secret, caches.classes.store.byIndex('secret', key).length);
    if (verb === 'leave') return done;
    const answer = await writeFinalizer(client, secrets, found, Finalizers.Secret, verb);
    if (answer) caches.secrets.recordWrite(answer);
    return done;
  };
