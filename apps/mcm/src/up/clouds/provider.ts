import type { MachineClass } from '@mcm/api';
import type { Draft } from '@mcm/kube';
import type { DataDir } from '../data-dir.ts';

/** Values of `mcm up --provider`. */
export const PROVIDERS = ['local', 'aws', 'azure', 'gcp'] as const;
/** One of `PROVIDERS`. */
export type ProviderName = (typeof PROVIDERS)[number];

/** A cloud that plays somewhere on this machine, as the programs next to it need to know it. */
export interface CloudSide {
  /** Origin of its API. */
  readonly address: string;
}

/** Data of Secrets by their names. */
export type SecretsByName = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What `mcm up` needs to know of a cloud to run the whole product on it. */
export interface Provider {
  readonly name: ProviderName;
  /** The cloud's program. */
  readonly cloud: ProgramOf;
  /** The machine controller's; called when the cloud is there. */
  readonly machineController: (cloud: CloudSide) => ProgramOf;
  /** Data of the Secret that the first class names, but for `userData`. */
  readonly credentials: (cloud: CloudSide) => Readonly<Record<string, string>>;
  /** Data of further Secrets by their names, but for `userData`: other ways to log in to the same cloud; absent: none. */
  readonly otherLogins?: (cloud: CloudSide) => SecretsByName;
  /** Whether a node is named like its machine; otherwise the VM's own host name is the node's. */
  readonly nodeIsMachine: boolean;
  /** The first class: its name and what is the provider's own of it. */
  readonly machineClass: { readonly name: string; readonly secret: string } & Pick<
    Draft<MachineClass>,
    'provider' | 'nodeTemplate' | 'providerSpec'
  >;
}

/** A program: its module, its own flags and variables. */
export interface ProgramOf {
  readonly name: string;
  readonly module: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Makes a provider for a data directory; secrets that it makes up are kept there. */
export type ProviderFor = (data: DataDir) => Provider;
