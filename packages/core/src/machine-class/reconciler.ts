import {
  Annotations,
  type EventReason,
  Finalizers,
  formatFieldErrors,
  type MachineClass,
  machineClasses,
  validateMachineClass,
} from '@mcm/api';
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
import type { FormerSpecs } from './former-spec.ts';

export interface ClassReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, 'machines' | 'classes' | 'secrets'>;
  readonly clock: Clock;
  readonly recorder: EventRecorder<EventReason>;
  readonly check: (machineClass: MachineClass) => readonly string[];
  /** Fields of a class that have no effect. */
  readonly unknownFields: (machineClass: MachineClass) => readonly string[];
  readonly log: Logger;
  readonly former: FormerSpecs;
  /** Called for deleted classes. */
  readonly forget: (key: Key) => void;
  /** VMs that are kept for analysis. Without their class nothing could find them. */
  readonly keptVms?: Pick<KeptVms, 'list'>;
}

/**
 * Names the fields of the nodeTemplate that are missing or invalid; '' if there are none. The CRDs of this project refuse
 * such a class, those of the original store it. Machines need no nodeTemplate; the cluster-autoscaler scales from zero by it.
 */
function nodeTemplateProblems(machineClass: MachineClass): string {
  const problems = validateMachineClass(machineClass).filter(({ path }) => /^nodeTemplate\b/.test(path));
  const text = formatFieldErrors(problems);
  return text && `${text}; correct it, or the cluster-autoscaler cannot scale from zero by this class`;
}

/** How long a class may be incomplete before it is reported. */
const PATIENCE_MS = 30_000;

/** A class without machines looks for its kept VMs at this interval, because no watch reports their records. */
const KEPT_RECHECK_MS = { unused: 3_600_000, deleted: 60_000 } as const;

/**
 * Decides whether a finalizer is added, removed or unchanged. An object that is being deleted gets none, because the
 * API server would refuse it.
 */
export function planFinalizer(object: KubeObject, finalizer: string, users: number): 'add' | 'remove' | 'leave' {
  const has = object.metadata.finalizers?.includes(finalizer) ?? false;
  if (users === 0) return has ? 'remove' : 'leave';
  return has || object.metadata.deletionTimestamp ? 'leave' : 'add';
}

/**
 * Writes the object's finalizers with one added or removed. With the version, a change by another client is a conflict.
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
 * Keeps a class as long as machines refer to it, including those being deleted: without the class their VMs cannot be
 * deleted. Source: machine-controller-manager, pkg/util/provider/machinecontroller/machineclass.go.
 */
export const createClassReconcile = ({
  client,
  caches,
  clock,
  log,
  recorder,
  check,
  unknownFields,
  former,
  forget,
  keptVms,
}: ClassReconcilerOptions) => {
  const told = new Map<Key, string>();
  /** Since when a class has unreported problems. A Secret may be created a moment after its class. */
  const since = new Map<Key, number>();
  /** Reports the problems of a class once, and their end. */
  const tell = (key: Key, machineClass: MachineClass): Outcome => {
    const problems = check(machineClass).join('; ');
    if (!problems) since.delete(key);
    if (problems === (told.get(key) ?? '')) return done;
    const now = clock.now().getTime();
    if (problems && !since.has(key)) since.set(key, now);
    const waitMs = problems ? (since.get(key) ?? now) + PATIENCE_MS - now : 0;
    if (waitMs > 0) return again(waitMs);
    told.set(key, problems);
    if (problems) recorder.event(machineClass, 'Warning', 'InvalidClass', `No VM can be made: ${problems}`);
    else recorder.event(machineClass, 'Normal', 'ClassIsValid', 'What was wrong with the class is mended');
    return done;
  };
  /** Keeps the last valid spec of a class while it is invalid. */
  const keepFormer = async (machineClass: MachineClass): Promise<void> => {
    const isValid = check(machineClass).length === 0;
    if (isValid) former.note(machineClass);
    const text = former.annotationFor(machineClass, isValid);
    if (text === undefined) return;
    const { name, namespace, uid, resourceVersion } = machineClass.metadata;
    const body = { metadata: { uid, resourceVersion, annotations: { [Annotations.FormerProviderSpec]: text } } };
    const classes = client.resource<MachineClass>(machineClasses, namespace);
    const answer = await ignoreNotFound(classes.patch(name, { type: 'merge', body }));
    if (answer) caches.classes.recordWrite(answer);
  };
  const warned = { UnknownField: new Map<Key, string>(), InvalidClass: new Map<Key, string>() };
  /** Reports once the fields of a class without an effect, and problems that do not prevent the creation of VMs. */
  const warn = (key: Key, machineClass: MachineClass, reason: keyof typeof warned, text: string): void => {
    if (text === (warned[reason].get(key) ?? '')) return;
    warned[reason].set(key, text);
    if (text) recorder.event(machineClass, 'Warning', reason, text);
  };
  /** Without their class nothing could find its kept VMs. */
  const heldByKept = (machineClass: MachineClass, kept: readonly KeptVm[]): Outcome => {
    if (!machineClass.metadata.deletionTimestamp) return again(KEPT_RECHECK_MS.unused);
    const names = kept.map(({ providerID }) => providerID).join(', ');
    const text = `Its deletion waits for VMs that were kept for study and go now: ${names}`;
    recorder.event(machineClass, 'Normal', 'InUse', text);
    return again(KEPT_RECHECK_MS.deleted);
  };
  const uids = new Map<Key, string>();
  return async (key: Key): Promise<Outcome> => {
    const seen = caches.classes.store.get(key);
    if (seen) await keepFormer(seen);
    const found = caches.classes.store.get(key);
    if (!found) {
      former.forget(uids.get(key) ?? '');
      uids.delete(key);
      forget(key);
      for (const texts of Object.values(warned)) texts.delete(key);
      told.delete(key);
      since.delete(key);
      return done;
    }
    uids.set(key, found.metadata.uid);
    if (!found.metadata.deletionTimestamp) {
      warn(key, found, 'UnknownField', unknownFields(found).join('; '));
      warn(key, found, 'InvalidClass', nodeTemplateProblems(found));
    }
    const outcome = found.metadata.deletionTimestamp ? done : tell(key, found);
    const users = caches.machines.store.countByIndex('classUsers', splitKey(key).name);
    const verb = planFinalizer(found, Finalizers.MachineControllerManager, users);
    if (found.metadata.deletionTimestamp && users > 0) {
      log.info('Deletion of MachineClass waits for machines that use it', { class: key, machines: users });
      recorder.event(found, 'Normal', 'InUse', `Its deletion waits for ${users} machines that refer to it`);
    }
    if (verb === 'leave') return outcome;
    if (verb === 'remove') {
      const kept = (await keptVms?.list(found.metadata.name)) ?? [];
      if (kept.length > 0) return heldByKept(found, kept);
    }
    const finalizer = Finalizers.MachineControllerManager;
    const answer = await writeFinalizer<MachineClass>(client, machineClasses, found, finalizer, verb);
    if (answer) caches.classes.recordWrite(answer);
    return outcome;
  };
};

/** Keeps a Secret as long as a class refers to it. Source: secret.go. */
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
