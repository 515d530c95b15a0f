import { type Machine, type MachineClass, machineClasses, USER_DATA_KEY } from '@mcm/api';
import { errorText } from '@mcm/kube';
import { checkInstance, checkListing } from '../contract/answers.ts';
import type { CreatedInstance, MachineRequest, VolumeSource } from '../contract/driver.ts';
import { MachineError } from '../contract/errors.ts';
import { type ClassSecrets, userDataOf } from '../schemas/credentials.ts';
import type { DriverCall } from '../schemas/define-driver.ts';
import { unknownFields } from '../schemas/unknown-fields.ts';
import { redact } from '../secrets/redact.ts';
import { bytesOf } from '../secrets/secret-value.ts';
import { lookupOf } from './api/class-lookup.ts';
import {
  DRIVER_TIMEOUTS,
  type DriverInvoker,
  type InvokerOptions,
  type OnOverdue,
  type OnWaiting,
} from './api/invoker-api.ts';
import { createChoices } from './choices.ts';
import { checkAlternatives, checkClass } from './class-check.ts';
import { inputsOfMachine } from './inputs.ts';
import { listEverywhere } from './list-everywhere.ts';
import { budgetStage, CallBudgets } from './stages/budget.ts';
import type { Call, DecodedCall } from './stages/call.ts';
import { deadlineStage } from './stages/deadline.ts';
import { decodeStage } from './stages/decode.ts';
import { confirmLeader, fenceStage } from './stages/fence.ts';
import { redactStage } from './stages/redact.ts';
import { reportStage } from './stages/report.ts';
import { scrub } from './stages/scrub.ts';
import { siblingStage } from './stages/siblings.ts';

const KIND = machineClasses.kind;

/** Creates the invoker of a driver. */
export function createInvoker<Spec, Credentials>(options: InvokerOptions<Spec, Credentials>): DriverInvoker {
  const { driver, caches } = options;
  const lookup = lookupOf(caches, driver.credentialsSchema);
  const { classOf, secretsOf, secretsOfMachine } = lookup;
  const send = createSender(options, lookup);

  const forMachine = <T>(
    name: Exclude<DriverCall, 'list' | 'watchInterruptions'>,
    machine: Machine,
    onOverdue: OnOverdue | undefined,
    work: (call: MachineCall<Spec, Credentials>) => Promise<T>,
  ): Promise<T> =>
    send(callForMachine(lookup, name, machine, onOverdue), (call) =>
      work({ secrets: call.secrets, request: { ...call.request, machine } }),
    );

  const unimplemented = (method: string): MachineError =>
    new MachineError('Unimplemented', `driver ${driver.name} has no method ${method}`);
  const absent = (method: string): never => {
    throw unimplemented(method);
  };

  return {
    can: capabilitiesOf(driver),
    classOf,
    inputsOf: (machine) => inputsOfMachine(machine, classOf(machine), (key) => caches.secrets.store.get(key)),
    choicesOf: createChoices(driver, lookup),
    alternativeProblems: (machineClass, text) => checkAlternatives(driver, lookup, machineClass, text),
    unknownFields: (machineClass) => unknownFields(driver, machineClass),
    userDataOf: (machine) => {
      const machineClass = classOf(machine);
      return machineClass && secretsOf(machineClass).userData;
    },
    check: (machineClass) => checkClass(driver, lookup, machineClass),
    create: (machine, render, onOverdue, onWaiting) => {
      const { kind } = machine.spec.class;
      if (kind !== KIND) return Promise.reject(unknownKind(kind));
      return forMachine('create', machine, onOverdue, (call) => create(options, call, render, onWaiting));
    },
    initialize: (machine, onOverdue) => {
      if (!driver.initialize) return Promise.reject(unimplemented('initialize'));
      return forMachine('initialize', machine, onOverdue, async ({ request }) =>
        checkInstance(driver.name, 'initialize', (await driver.initialize?.(request)) ?? absent('initialize')),
      );
    },
    status: (machine, onOverdue) =>
      forMachine('status', machine, onOverdue, async ({ request }) =>
        checkInstance(driver.name, 'status', (await driver.status?.(request)) ?? absent('status')),
      ),
    ...changesOfVms(driver, forMachine),
    delete: (machine, onOverdue) =>
      forMachine('delete', machine, onOverdue, async ({ request }) => driver.delete(request)),
    evidence: (machine, onOverdue) =>
      forMachine(
        'evidence',
        machine,
        onOverdue,
        async ({ request }) => driver.evidence?.(request) ?? absent('evidence'),
      ),
    secretsOf: secretsOfMachine,
    volumeIdOf: (source) => volumeIdOf(options, source),
    list: (machineClass, onOverdue, tagKeys) =>
      listEverywhere(options, lookup, machineClass, (alternative) =>
        send({ ...callForClass(lookup, machineClass, onOverdue), alternative }, async ({ request }) =>
          checkListing(
            driver.name,
            (await driver.list?.(tagKeys ? { ...request, tagKeys } : request)) ?? absent('list'),
          ),
        ),
      ),
    watchInterruptions: (machineClass, notify) =>
      send(callForClass(lookup, machineClass, undefined, 'watchInterruptions'), async ({ request }) => {
        if (!driver.watchInterruptions) throw unimplemented('watchInterruptions');
        await driver.watchInterruptions({ ...request, notify });
      }),
    interruptionSourceOf: (machineClass) =>
      driver.interruptionSource ? driver.interruptionSource(machineClass) : machineClass.metadata.name,
  };
}

interface MachineCall<Spec, Credentials> {
  readonly request: MachineRequest<Spec, Credentials>;
  readonly secrets: ClassSecrets;
}

type ForMachine<Spec, Credentials> = <T>(
  name: 'stop' | 'start' | 'tag',
  machine: Machine,
  onOverdue: OnOverdue | undefined,
  work: (call: MachineCall<Spec, Credentials>) => Promise<T>,
) => Promise<T>;

/** Returns the driver's `stop`, `start` and `tag`. A driver must have both `stop` and `start`, or neither. */
const changesOfVms = <Spec, Credentials>(
  driver: InvokerOptions<Spec, Credentials>['driver'],
  forMachine: ForMachine<Spec, Credentials>,
): Pick<DriverInvoker, 'stop' | 'start' | 'tag'> => ({
  stop: (machine, hibernate, onOverdue) =>
    forMachine('stop', machine, onOverdue, async ({ request }) => {
      const action = hibernate ? 'hibernate' : 'stop';
      if (!driver.stop || !driver.start || (hibernate && !driver.hibernates))
        throw new MachineError('Unimplemented', `driver ${driver.name} cannot ${action} VMs`);
      await driver.stop({ ...request, hibernate });
    }),
  start: (machine, onOverdue) =>
    forMachine('start', machine, onOverdue, async ({ request }) => {
      if (!driver.start) throw new MachineError('Unimplemented', `driver ${driver.name} cannot start VMs`);
      await driver.start(request);
    }),
  tag: (machine, tags, onOverdue) =>
    forMachine('tag', machine, onOverdue, async ({ request }) => {
      if (!driver.tag) throw new MachineError('Unimplemented', `driver ${driver.name} has no method tag`);
      await driver.tag({ ...request, tags });
    }),
});

const capabilitiesOf = ({
  initialize,
  status,
  stop,
  start,
  tag,
  hibernates,
  list,
  evidence,
  watchInterruptions,
}: Partial<Record<DriverCall | 'hibernates', unknown>>): DriverInvoker['can'] => ({
  initialize: initialize !== undefined,
  status: status !== undefined,
  list: list !== undefined,
  evidence: evidence !== undefined,
  interruptions: watchInterruptions !== undefined,
  stop: stop !== undefined && start !== undefined,
  tag: tag !== undefined,
  hibernate: stop !== undefined && start !== undefined && hibernates === true,
});

type Lookup = Pick<ReturnType<typeof lookupOf>, 'classOf' | 'classOrThrow' | 'secretsOf' | 'secretsOfMachine'>;

/** Some calls do not need the class and the Secrets, so the stages read them only when a call needs them. */
const callForMachine = (
  { classOf, classOrThrow, secretsOfMachine }: Lookup,
  name: Exclude<DriverCall, 'list' | 'watchInterruptions'>,
  machine: Machine,
  onOverdue: OnOverdue | undefined,
): Call => ({
  name,
  subject: `${name} of machine ${machine.metadata.name}`,
  machine,
  classNow: () => classOf(machine),
  requireClass: () => classOrThrow(machine),
  secretsNow: () => secretsOfMachine(machine),
  onOverdue,
  progress: { sent: false },
});

const callForClass = (
  { secretsOf }: Lookup,
  machineClass: MachineClass,
  onOverdue: OnOverdue | undefined,
  name: 'list' | 'watchInterruptions' = 'list',
): Call => ({
  name,
  subject: `${name} of class ${machineClass.metadata.name}`,
  machine: undefined,
  classNow: () => machineClass,
  requireClass: () => machineClass,
  secretsNow: () => secretsOf(machineClass),
  onOverdue,
  progress: { sent: false },
});

function createSender<Spec, Credentials>(
  options: InvokerOptions<Spec, Credentials>,
  lookup: ReturnType<typeof lookupOf>,
) {
  const { driver, clock, stop, timeouts = DRIVER_TIMEOUTS } = options;
  const report = reportStage({ provider: driver.name, clock, tracer: options.tracer, observe: options.observe });
  const redacted = redactStage(options.observeClass);
  const deadline = deadlineStage(clock, timeouts, stop);
  const decode = decodeStage({ ...options, lookup });
  const budget = budgetStage<Spec, Credentials>(
    new CallBudgets(clock, options.rates),
    driver.spacesRequests,
    options.observeWait,
  );
  const fence = fenceStage(options.fence);
  const siblings = siblingStage({ driver, lookup, fallback: options.fallback, log: options.log });

  return <T>(call: Call, work: (call: DecodedCall<Spec, Credentials>) => Promise<T>): Promise<T> =>
    report(call, (traced) =>
      redacted(traced, () =>
        deadline(traced, (timed) =>
          decode(timed, (decoded) =>
            budget(decoded, () =>
              fence(decoded, () => {
                call.progress.sent = true;
                return siblings(decoded, work);
              }),
            ),
          ),
        ),
      ),
    );
}

/** A machine whose class reference has an unsupported kind gets no VM. */
const unknownKind = (kind: string | undefined): MachineError =>
  new MachineError('InvalidArgument', `spec.class.kind: must be ${KIND}, not "${kind ?? ''}"`);

async function create<Spec, Credentials>(
  { driver, fence }: InvokerOptions<Spec, Credentials>,
  { request, secrets }: MachineCall<Spec, Credentials>,
  render: (userData: Uint8Array) => Promise<Uint8Array>,
  onWaiting: OnWaiting | undefined,
): Promise<CreatedInstance> {
  const { machine, machineClass } = request;
  const rendered = await render(userDataOf(secrets, machine.metadata.name, machineClass)).catch((thrown: unknown) => {
    // mcm would treat a network error in the cause as a problem of the cloud, so the new error omits the cause.
    const { code, message } = MachineError.from(thrown);
    throw new MachineError(code, message);
  });
  // The creation of a bootstrap token may need slow requests. During these requests, another process may become the
  // leader.
  await confirmLeader(fence, 'create');
  // Drivers print a Buffer as text, so the redaction can find the user data in the text of an error.
  const userData = bytesOf(rendered);
  const waitsFor = (cause: string): void =>
    onWaiting?.(redact(cause, { ...secrets.hidden, [USER_DATA_KEY]: userData }));
  const created = await driver.create({ ...request, userData, waitsFor }).catch((thrown: unknown) => {
    // An error of the cloud may quote the final user data in base64. Later stages do not have the final user data, so
    // the redaction happens here.
    const error = MachineError.from(thrown);
    throw scrub(error, { [USER_DATA_KEY]: userData }, undefined, error);
  });
  return checkInstance(driver.name, 'create', created);
}

function volumeIdOf<Spec, Credentials>(
  { driver, observe, log }: InvokerOptions<Spec, Credentials>,
  source: VolumeSource,
): string | undefined {
  try {
    const id = driver.volumeIds?.([source])[0];
    observe?.('volumeIds', 0, undefined);
    return id;
  } catch (thrown) {
    observe?.('volumeIds', 0, MachineError.from(thrown));
    log.warn('Driver cannot determine the ID of a volume; the drain does not wait for its detachment', {
      error: errorText(thrown),
    });
    return undefined;
  }
}
