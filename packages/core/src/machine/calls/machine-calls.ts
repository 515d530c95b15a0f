import type { Machine } from '@mcm/api';
import type { BootstrapTokenIssuer } from '../../bootstrap/tokens.ts';
import { asksForToken, renderUserData } from '../../bootstrap/user-data.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import type { DriverInvoker, OnOverdue, OnWaiting } from '../../driver/invoker/api/invoker-api.ts';
import { warmStateOf } from '../../warm/warm-machine.ts';
import type { CallKind, MachineObservation } from '../model/observation.ts';
import { type AdoptionOptions, findUnrecorded } from './adoption.ts';
import type { CallResult, DriverCalls } from './calls.ts';

export interface MachineCallsOptions extends AdoptionOptions {
  readonly invoker: DriverInvoker;
  readonly calls: DriverCalls;
  readonly tokens: BootstrapTokenIssuer | undefined;
}

/** Calls the driver for a machine, and validates the result of each call. */
export class MachineCalls {
  readonly #options: MachineCallsOptions;

  constructor(options: MachineCallsOptions) {
    this.#options = options;
  }

  start(o: MachineObservation, call: CallKind): void {
    this.#options.calls.start(o.machine, call, o.inputs, (...reported) => this.#invoke(o, call, ...reported));
  }

  async #invoke(
    o: MachineObservation,
    call: CallKind,
    onOverdue: OnOverdue,
    onWaiting: OnWaiting,
  ): Promise<CallResult> {
    const { invoker } = this.#options;
    const { machine } = o;
    switch (call) {
      case 'create': {
        const created = await invoker.create(machine, (userData) => this.#render(o, userData), onOverdue, onWaiting);
        requireNames(o, created);
        const { lastKnownState, ...instance } = created;
        return { ok: true, instance, lastKnownState };
      }
      case 'initialize':
        return { ok: true, instance: await invoker.initialize(machine, onOverdue) };
      case 'status':
        return this.#look(o, onOverdue);
      case 'stop':
        await invoker.stop(machine, warmStateOf(machine) === 'Hibernated', onOverdue);
        return { ok: true };
      case 'start':
        await invoker.start(machine, onOverdue);
        return { ok: true };
      case 'delete': {
        const gone = await invoker.delete(withProviderId(machine, o.calls.created), onOverdue);
        return { ok: true, lastKnownState: gone?.lastKnownState };
      }
      default:
        return assertNever(call);
    }
  }

  async #look(o: MachineObservation, onOverdue: OnOverdue): Promise<CallResult> {
    const { machine } = o;
    const look = () => this.#options.invoker.status(machine, onOverdue);
    if (machine.spec.providerID) {
      const { ending, ...instance } = await look();
      return { ok: true, instance, ending };
    }
    const result = await findUnrecorded(machine, look, this.#options);
    if (result.instance && !machine.metadata.deletionTimestamp) requireNames(o, result.instance);
    return result;
  }

  async #render(o: MachineObservation, userData: Uint8Array): Promise<Uint8Array> {
    const { tokens } = this.#options;
    const machineName = o.machine.metadata.name;
    if (!tokens || !asksForToken(userData)) return renderUserData(userData, { machineName });
    const bootstrapToken = await tokens.ensure(o.machine, o.settings.creationTimeoutMs);
    return renderUserData(userData, { machineName, bootstrapToken });
  }
}

/**
 * Checks that the driver returned a provider ID and a Node name. Without the provider ID and the Node name, mcm could
 * not find the VM and its Node again.
 * @throws MachineError `Internal`
 */
function requireNames({ machine, hasTarget }: MachineObservation, { nodeName, providerId }: Instance): void {
  if (providerId && (nodeName || !hasTarget)) return;
  throw new MachineError(
    'Internal',
    `machine "${machine.metadata.name}": nodeName ("${nodeName}") or providerID ("${providerId}") is empty after creation flow`,
  );
}

const withProviderId = (machine: Machine, created: Instance | undefined): Machine =>
  machine.spec.providerID || !created
    ? machine
    : { ...machine, spec: { ...machine.spec, providerID: created.providerId } };

function assertNever(value: never): never {
  throw new Error(`not handled: ${JSON.stringify(value)}`);
}
