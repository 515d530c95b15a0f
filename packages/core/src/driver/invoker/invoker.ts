import { type Machine, type MachineClass, machineClasses, USER_DATA_KEY } from '@mcm/api';
import { errorText, makeKey } from '@mcm/kube';
import { checkInstance, checkListing } from '../contract/answers.ts';
import type { CreatedInstance, DriverRequest, MachineRequest } from '../contract/driver.ts';
import { MachineError } from '../contract/errors.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type ClassSecrets, secretKeysOf, secretsTold, userDataOf } from '../schemas/credentials.ts';
import { placeOf, troubleOf } from '../schemas/cure.ts';
import { decodeInput, noSecret } from '../schemas/decode.ts';
import type { DecodedInput, DriverCall, DriverInput } from '../schemas/define-driver.ts';
import { unknownFields } from '../schemas/unknown-fields.ts';
import { redact, redactingLogger } from '../secrets/redact.ts';
import { scrub } from '../secrets/scrub.ts';
import { bytesOf } from '../secrets/secret-value.ts';
import { CallBudgets } from './budgets.ts';
import { lookupOf } from './class-lookup.ts';
import { withDeadline } from './deadline.ts';
import { inputs } from './inputs.ts';
import {
  DRIVER_TIMEOUTS,
  type DriverInvoker,
  type DriverTimeouts,
  type InvokerOptions,
  type OnOverdue,
} from './invoker-api.ts';
import { createSiblingCalls } from './sibling-calls.ts';
import { type CallSpan, startCall } from './tracing.ts';

const KIND = machineClasses.kind;

/** Calls that make or delete something in the cloud. */
const CHANGES: ReadonlySet<string> = new Set(['create', 'initialize', 'delete']);

/** Codes of failures that pass by themselves. */
const PASSING: ReadonlySet<string> = new Set(['Unavailable', 'DeadlineExceeded', 'Aborted', 'Canceled', 'Unknown']);

/** Codes by which a cloud tells of a VM: nothing is wrong with the class. */
const ANSWERS: ReadonlySet<string> = new Set(['NotFound', 'Uninitialized', 'OutOfRange']);

/** Machines of former kinds are kept and deleted by the name of their class; no new VM is made for one. */
const unknownKind = (kind: string | undefined): MachineError =>
  new MachineError(
    'InvalidArgument',
    `spec.class.kind: "${kind ?? ''}" is no kind of class that is known; write ${KIND}`,
  );

/** What a call is made with while it is under way. */
interface Underway {
  readonly signal: AbortSignal;
  readonly span: CallSpan;
  /** Class and Secret make sense: from here on it is the cloud that is asked. */
  readonly asks: () => void;
}

/** Wraps a driver: inputs are decoded, calls have deadlines, and whatever is thrown becomes a MachineError. */
export function createInvoker<Spec, Credentials>(options: InvokerOptions<Spec, Credentials>): DriverInvoker {
  const { driver, caches, clock, log, stop, timeouts = DRIVER_TIMEOUTS, observe, observeApi } = options;
  const budgets = new CallBudgets(clock);
  const { classOf, classOrThrow, secretsOf, secretsOfMachine, usable } = lookupOf(caches, driver.credentialsSchema);
  /**
   * A class that became invalid creates no VM, but it must not delay a deletion. All calls except `create` use its former
   * spec, if that is valid (incident 27).
   */
  const decode = (input: DriverInput): DecodedInput<Spec, Credentials> & { readonly machineClass: MachineClass } => {
    const { machineClass } = input;
    try {
      return { machineClass, ...decodeInput(driver, input) };
    } catch (thrown) {
      const former = input.call === 'create' ? undefined : options.former?.(machineClass);
      if (!former) throw thrown;
      return { machineClass: former, ...decodeInput(driver, { ...input, machineClass: former }) };
    }
  };

  /** What every call needs, with the problems of the Secrets told before the schema's, which follow from them. */
  const request = (
    call: DriverCall,
    machineClass: MachineClass,
    secrets: ClassSecrets,
    { signal, span }: Underway,
    machine?: Machine,
  ): DriverRequest<Spec, Credentials> => {
    const owner = options.owner?.();
    return {
      ...decode({ call, machineClass, data: usable(secrets).data, ...(machine ? { machine } : {}) }),
      signal,
      ...(owner === undefined ? {} : { owner }),
      ...(options.formerOwners ? { formerOwners: options.formerOwners } : {}),
      observeApi: (service, ms, error) => {
        observeApi?.(service, ms, error);
        span.request(service, ms, error !== undefined);
      },
      log: redactingLogger(
        log.with({
          class: machineClass.metadata.name,
          call,
          ...(machine ? { machine: machine.metadata.name } : {}),
        }),
        secrets.hidden,
      ),
    };
  };

  /** Makes a call in its turn. Drivers that space their requests themselves are not held back twice. */
  const inTurn = <T>(secrets: ClassSecrets, { signal }: Underway, call: () => Promise<T>): Promise<T> =>
    driver.spacesRequests ? call() : budgets.spend(secrets.data, signal, call, MachineError.from);

  const invoke = async <T>(
    call: keyof DriverTimeouts,
    what: string,
    secrets: () => ClassSecrets,
    work: (underway: Underway) => Promise<T>,
    onOverdue?: OnOverdue,
    machine?: Machine,
    ofClass: () => MachineClass | undefined = () => machine && classOf(machine),
  ): Promise<T> => {
    let asked = false;
    const asks = (): void => {
      asked = true;
    };
    const span = startCall(options.tracer, OPERATIONS[call], {
      provider: driver.name,
      ...(machine
        ? { machine: makeKey(machine.metadata.namespace, machine.metadata.name), 'machine.uid': machine.metadata.uid }
        : { what }),
    });
    const tell = (error: MachineError | undefined): void =>
      observe?.(call, took(), error, machine, machine && classOf(machine));
    /** What fails before the driver is called fails by class or Secrets, unless it was time, a stop or a fence that ended it. */
    const refusedUnsent = (thrown: unknown): MachineError => {
      const error = MachineError.from(thrown);
      if (asked || PASSING.has(error.code)) return error;
      return new MachineError(error.code, error.message, { cause: error, place: error.place, unsent: true });
    };
    const since = clock.monotonic();
    const took = (): number => clock.monotonic() - since;
    try {
      const result = await withDeadline({ clock, timeoutMs: timeouts[call], stop, what, onOverdue }, (signal) =>
        work({ signal, span, asks }),
      );
      tell(undefined);
      span.end(undefined);
      const machineClass = ofClass();
      if (machineClass) options.observeClass?.(machineClass, call, undefined);
      return result;
    } catch (thrown) {
      const error = withCure(call, refusedUnsent(thrown), ofClass(), asked, secrets());
      tell(error);
      span.end(error);
      throw error;
    }
  };

  /** A process that was paused or lost the Lease changes nothing in the cloud, because another leader may have decided otherwise. */
  const confirm = async (call: string): Promise<void> => {
    try {
      await options.fence?.confirm();
    } catch (error) {
      const message = `${call} is not sent: whether this process still leads could not be confirmed (${errorText(error)})`;
      throw new MachineError('Aborted', message, { cause: error });
    }
  };

  /** The error fit to be stored; told on its class too when that is what has to be changed. */
  const withCure = (
    call: string,
    thrown: MachineError,
    machineClass: MachineClass | undefined,
    asked: boolean,
    { data, hidden }: ClassSecrets,
  ): MachineError => {
    if (!options.observeClass || !machineClass) return scrub(thrown, hidden);
    const trouble = asked ? troubleOf(thrown, machineClass, data, call) : undefined;
    const error = scrub(thrown, hidden, trouble?.cure ?? placeOf(thrown, machineClass));
    if (trouble) options.observeClass(machineClass, call, { reason: trouble.reason, message: error.message });
    else if (asked && ANSWERS.has(thrown.code)) options.observeClass(machineClass, call, undefined);
    return error;
  };

  const forMachine = <T>(
    call: 'create' | 'initialize' | 'status' | 'delete' | 'evidence',
    machine: Machine,
    work: (request: MachineRequest<Spec, Credentials>, secrets: ClassSecrets) => Promise<T>,
    onOverdue: OnOverdue | undefined,
  ): Promise<T> => {
    const secrets = (): ClassSecrets => secretsOfMachine(machine);
    const run = async (underway: Underway): Promise<T> => {
      const machineClass = classOrThrow(machine);
      const found = secretsOf(machineClass);
      const base = { ...request(call, machineClass, found, underway, machine), machine };
      return inTurn(found, underway, async () => {
        if (CHANGES.has(call)) await confirm(call);
        underway.asks();
        return work(base, found);
      });
    };
    return invoke(call, `${call} of machine ${machine.metadata.name}`, secrets, run, onOverdue, machine);
  };

  const orByOthers = createSiblingCalls({ driver, fallback: options.fallback, secretsOf, usable, log });

  const unimplemented = (method: string): MachineError =>
    new MachineError('Unimplemented', `driver ${driver.name} has no ${method}`);
  const absent = (method: string): never => {
    throw unimplemented(method);
  };

  return {
    can: {
      initialize: driver.initialize !== undefined,
      status: driver.status !== undefined,
      list: driver.list !== undefined,
      evidence: driver.evidence !== undefined,
    },
    classOf,
    inputsOf: (machine) =>
      `${machine.spec.class.kind} ${inputs(classOf(machine), (key) => caches.secrets.store.get(key))}`,
    unknownFields: (machineClass) => unknownFields(driver, machineClass),
    userDataOf: (machine) => {
      const machineClass = classOf(machine);
      return machineClass && secretsOf(machineClass).userData;
    },
    check: (machineClass) => {
      const secrets = secretsOf(machineClass);
      if (secrets.problems.length > 0) return secrets.problems;
      const problems: string[] = [];
      try {
        const decoded = decodeInput(driver, { call: 'create', machineClass, data: secrets.data });
        const told = { ...decoded, secrets: secretsTold(machineClass) };
        for (const problem of driver.check?.(told) ?? []) problems.push(redact(problem, secrets.hidden));
      } catch (thrown) {
        const error = MachineError.from(thrown);
        problems.push(scrub(error, secrets.hidden, placeOf(error, machineClass)).message);
      }
      const said = problems.join('; ');
      if (secretKeysOf(machineClass).length === 0)
        return said.includes('secretRef') ? problems : [noSecret(machineClass), ...problems];
      if (secrets.data[USER_DATA_KEY] !== undefined || said.includes(USER_DATA_KEY)) return problems;
      const noUserData = `secretRef: ${secretsTold(machineClass)} has no key userData, without which no VM can be made; add it`;
      return [noUserData, ...problems];
    },
    create: (machine, render, onOverdue, onWaiting) => {
      const { kind } = machine.spec.class;
      if (kind !== KIND) return Promise.reject(unknownKind(kind));
      const work = async (base: MachineRequest<Spec, Credentials>, secrets: ClassSecrets): Promise<CreatedInstance> => {
        const rendered = await render(userDataOf(secrets, machine.metadata.name, base.machineClass)).catch(
          (thrown: unknown) => {
            // It is no cloud that could not be reached here, but the cluster that tokens are made in: its causes say nothing.
            const { code, message } = MachineError.from(thrown);
            throw new MachineError(code, message);
          },
        );
        // The bootstrap token took requests to the target cluster, during which the Lease may have been lost.
        await confirm('create');
        // A Buffer: put into a text by mistake it is the text, which is taken out, and no list of numbers.
        const userData = bytesOf(rendered);
        const waitsFor = (what: string): void =>
          onWaiting?.(redact(what, { ...secrets.hidden, [USER_DATA_KEY]: userData }));
        const created = await driver.create({ ...base, userData, waitsFor }).catch((thrown: unknown) => {
          // Only here it is known how the user data was rendered, which a cloud may quote in base64.
          const error = MachineError.from(thrown);
          throw scrub(error, { [USER_DATA_KEY]: userData }, undefined, error);
        });
        return checkInstance(driver.name, 'create', created);
      };
      return forMachine('create', machine, work, onOverdue);
    },
    initialize: (machine, onOverdue) =>
      driver.initialize
        ? forMachine(
            'initialize',
            machine,
            async (base) =>
              checkInstance(driver.name, 'initialize', (await driver.initialize?.(base)) ?? absent('initialize')),
            onOverdue,
          )
        : Promise.reject(unimplemented('initialize')),
    status: (machine, onOverdue) =>
      forMachine(
        'status',
        machine,
        async (base) =>
          checkInstance(
            driver.name,
            'status',
            await orByOthers(base, (one) => driver.status?.(one) ?? absent('status')),
          ),
        onOverdue,
      ),
    delete: (machine, onOverdue) =>
      forMachine('delete', machine, (base) => orByOthers(base, (one) => driver.delete(one)), onOverdue),
    evidence: (machine, onOverdue) =>
      forMachine('evidence', machine, async (base) => driver.evidence?.(base) ?? absent('evidence'), onOverdue),
    secretsOf: secretsOfMachine,
    volumeIdOf: (source) => {
      try {
        const id = driver.volumeIds?.([source])[0];
        observe?.('volumeIds', 0, undefined);
        return id;
      } catch (thrown) {
        observe?.('volumeIds', 0, MachineError.from(thrown));
        log.warn('Driver does not know the ID of a volume; the drain does not wait for it', {
          error: errorText(thrown),
        });
        return undefined;
      }
    },
    list: (machineClass, onOverdue) => {
      const secrets = secretsOf(machineClass);
      return invoke(
        'list',
        `list of class ${machineClass.metadata.name}`,
        () => secrets,
        (underway) => {
          const base = request('list', machineClass, secrets, underway);
          return inTurn(secrets, underway, async () => {
            underway.asks();
            return checkListing(driver.name, (await driver.list?.(base)) ?? absent('list'));
          });
        },
        onOverdue,
        undefined,
        () => machineClass,
      );
    },
  };
}
