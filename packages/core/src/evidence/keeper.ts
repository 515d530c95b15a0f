import { type Machine, USER_DATA_KEY } from '@mcm/api';
import {
  type ConfigMap,
  configMaps,
  errorText,
  ignoreNotFound,
  isAlreadyExists,
  type KubeClient,
  type Logger,
} from '@mcm/kube';
import type { BootstrapTokenIssuer } from '../bootstrap/tokens.ts';
import { asksForToken, renderUserData } from '../bootstrap/user-data.ts';
import {
  draftEvidence,
  EvidenceLabels,
  evidenceName,
  type Failure,
  type InstanceEvidence,
  labelOf,
} from '../driver/contract/bundle.ts';
import type { DriverInvoker } from '../driver/invoker/api/invoker-api.ts';
import { bytesOf, type SecretValues } from '../driver/secrets/secret-value.ts';
import { Lane } from '../flow/lane.ts';

export interface KeeperOptions {
  readonly control: KubeClient;
  readonly invoker: Pick<DriverInvoker, 'can' | 'evidence' | 'classOf' | 'secretsOf'>;
  /** Without a target cluster, `tokens` is undefined, because machines get no tokens. */
  readonly tokens: Pick<BootstrapTokenIssuer, 'read'> | undefined;
  readonly log: Logger;
  /**
   * The maximum number of failures of each class for which mcm keeps evidence. With the value 0, mcm stores no
   * evidence.
   */
  readonly perClass: number;
  readonly wake: (machine: Machine) => void;
}

export const EVIDENCE_PER_CLASS = 10;

const LIMIT = 20;

/** Stores the evidence of failed machines before their VMs are deleted. */
export class EvidenceKeeper {
  readonly #options: KeeperOptions;
  readonly #lane = new Lane(LIMIT);
  #running = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get enabled(): boolean {
    return this.#options.perClass > 0;
  }

  get running(): number {
    return this.#running;
  }

  /** Stores the evidence. At the end, `keep` calls `settled` and reconciles the machine, even after an error. */
  keep(machine: Machine, failure: Failure, settled: () => void): void {
    const { log, wake } = this.#options;
    this.#running++;
    void this.#lane
      .run((leave) => this.#keep(machine, failure, leave))
      .catch((error: unknown) =>
        log.warn('Cannot store the evidence of a failed machine', {
          machine: machine.metadata.name,
          error: errorText(error),
        }),
      )
      .finally(() => {
        this.#running--;
        settled();
        wake(machine);
      });
  }

  async #keep(machine: Machine, failure: Failure, leave: () => void): Promise<void> {
    const { control, invoker, log } = this.#options;
    const client = control.resource(configMaps, machine.metadata.namespace);
    // An earlier process may have stored the evidence, and stopped before it marked the machine as Failed.
    if (await ignoreNotFound(client.get(evidenceName(machine, failure)))) return;
    const gaps: string[] = [];
    const { secrets, tokens } = await this.#known(machine, gaps);
    const instance = secrets && tokens ? await this.#ask(machine, gaps, leave) : undefined;
    const known = { secrets: withRendered(secrets ?? {}, machine, tokens?.[0]), tokens: tokens ?? [] };
    const machineClass = invoker.classOf(machine);
    const draft = draftEvidence({ machine, machineClass, failure, instance, gaps, known });
    try {
      await client.create(draft);
      log.info('Stored the evidence of a failed machine', {
        machine: machine.metadata.name,
        configMap: draft.metadata.name,
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    await this.#prune(machine);
  }

  /** Returns the secrets that the evidence must not contain. Without these secrets, mcm stores no data of the VM. */
  async #known(
    machine: Machine,
    gaps: string[],
  ): Promise<{ readonly secrets?: SecretValues; readonly tokens?: readonly string[] }> {
    const { hidden, userData, problems } = this.#options.invoker.secretsOf(machine);
    if (problems.length > 0) {
      gaps.push(`The console output was omitted because its secrets could not be removed: ${problems.join('; ')}`);
      return {};
    }
    if (!userData || !asksForToken(userData)) return { secrets: hidden, tokens: [] };
    try {
      const token = await this.#options.tokens?.read(machine);
      return { secrets: hidden, tokens: token ? [token] : [] };
    } catch (error) {
      gaps.push(
        `The console output was omitted because its bootstrap token could not be read and removed: ${errorText(error)}`,
      );
      return { secrets: hidden };
    }
  }

  async #ask(machine: Machine, gaps: string[], leave: () => void): Promise<InstanceEvidence | undefined> {
    const { invoker } = this.#options;
    if (!invoker.can.evidence) {
      gaps.push('The driver does not support reading the console output of a VM');
      return undefined;
    }
    const deaf = Promise.withResolvers<never>();
    try {
      const asked = invoker.evidence(machine, (error) => {
        leave();
        deaf.reject(error);
      });
      return await Promise.race([asked, deaf.promise]);
    } catch (error) {
      gaps.push(`The driver could not read the console output of the VM: ${errorText(error)}`);
      return undefined;
    }
  }

  async #prune(machine: Machine): Promise<void> {
    const { control, perClass } = this.#options;
    const client = control.resource<ConfigMap>(configMaps, machine.metadata.namespace);
    const labelSelector = `${EvidenceLabels.Class}=${labelOf(machine.spec.class.name ?? '')}`;
    const { items } = await client.list({ labelSelector });
    const age = ({ metadata }: ConfigMap): string => `${metadata.creationTimestamp} ${metadata.name}`;
    const surplus = items.toSorted((a, b) => (age(a) < age(b) ? 1 : -1)).slice(perClass);
    for (const { metadata } of surplus) {
      await ignoreNotFound(client.delete(metadata.name, { preconditions: { uid: metadata.uid } }));
    }
  }
}

function withRendered(secrets: SecretValues, machine: Machine, bootstrapToken: string | undefined): SecretValues {
  const value = secrets[USER_DATA_KEY];
  if (value === undefined) return secrets;
  const userData = bytesOf(value);
  const machineName = machine.metadata.name;
  const rendered = renderUserData(userData, { machineName, bootstrapToken: bootstrapToken || undefined });
  return { ...secrets, [USER_DATA_KEY]: Buffer.concat([userData, Buffer.from('\n'), rendered]) };
}
