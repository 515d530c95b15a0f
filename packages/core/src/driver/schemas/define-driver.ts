import type { Machine, MachineClass } from '@mcm/api';
import type { z } from 'zod';
import type { Driver } from '../contract/driver.ts';
import type { AlternativeRules } from '../offerings/rules.ts';

/** The driver's methods that get a class and its Secrets. */
export type DriverCall =
  | 'create'
  | 'initialize'
  | 'status'
  | 'stop'
  | 'start'
  | 'delete'
  | 'list'
  | 'evidence'
  | 'watchInterruptions';

/** A class and its Secrets before validation. */
export interface DriverInput {
  readonly call: DriverCall;
  readonly machineClass: MachineClass;
  /** `machine` is absent for a listing and for a wait for notices. */
  readonly machine?: Machine | undefined;
  /** Merged and decoded data of the class's Secrets. */
  readonly data: Readonly<Record<string, string>>;
}

/** A class and its Secrets in the driver's types, after validation. */
export interface DecodedInput<Spec, Credentials> {
  readonly spec: Spec;
  readonly credentials: Credentials;
}

/** A driver with the schemas of its input. */
export interface DriverDefinition<Spec, Credentials> extends Driver<Spec, Credentials> {
  /** Schema of `MachineClass.providerSpec`. */
  readonly providerSpec: z.ZodType<Spec>;
  /** Schema of the merged and decoded data of `secretRef` and `credentialsSecretRef`, including `userData`. */
  readonly credentialsSchema: z.ZodType<Credentials>;
  /**
   * `decode` replaces the schemas, for drivers with special rules, texts or codes. `decode` is called before every call
   * to the cloud. `foldGoJson` decodes a provider spec in the same way as Go.
   * @throws MachineError
   */
  decode?(input: DriverInput): DecodedInput<Spec, Credentials>;
  /**
   * Returns further problems of a class and its Secret that can be found without the cloud, one sentence each. mcm
   * reports them on the class before it creates any VM.
   * mcm reports these problems on the class before it creates any VM.
   */
  check?(input: DecodedInput<Spec, Credentials> & { readonly secrets: string }): readonly string[];
  /**
   * Applies the alternatives of a class to its provider spec. If the driver refuses a creation with
   * `ResourceExhausted`, it must leave no VM, so that the next call can use an alternative.
   */
  readonly alternatives?: AlternativeRules<Spec>;
  /**
   * `spacesRequests` is true if the driver limits the rate of its requests itself, with a `LearnedRate` for each
   * account. If `spacesRequests` is false, the invoker limits the calls, based on `MachineError.throttled`.
   */
  readonly spacesRequests?: boolean;
}

/** Declares a driver. TypeScript infers its types from its schemas. */
export const defineDriver = <Spec, Credentials>(
  definition: DriverDefinition<Spec, Credentials>,
): DriverDefinition<Spec, Credentials> => definition;
