import type { Machine, MachineClass } from '@mcm/api';
import type { z } from 'zod';
import type { Driver } from '../contract/driver.ts';
import type { AlternativeRules } from '../offerings/rules.ts';

/** The methods of a driver whose input contains a class and its Secrets. */
export type DriverCall =
  | 'create'
  | 'initialize'
  | 'status'
  | 'stop'
  | 'start'
  | 'tag'
  | 'delete'
  | 'list'
  | 'evidence'
  | 'watchInterruptions';

/** The input of a driver call before the validation: a class and its Secrets. */
export interface DriverInput {
  readonly call: DriverCall;
  readonly machineClass: MachineClass;
  readonly machine?: Machine | undefined;
  readonly data: Readonly<Record<string, string>>;
}

/** The input of a driver call after the validation, in the types of the driver. */
export interface DecodedInput<Spec, Credentials> {
  readonly spec: Spec;
  readonly credentials: Credentials;
}

/** A driver and the schemas of its input. */
export interface DriverDefinition<Spec, Credentials> extends Driver<Spec, Credentials> {
  readonly providerSpec: z.ZodType<Spec>;
  /** The schema of the merged and decoded data of `secretRef` and `credentialsSecretRef`, including `userData`. */
  readonly credentialsSchema: z.ZodType<Credentials>;
  /**
   * Drivers with special rules, messages or error codes implement `decode`. The method `decode` replaces the default
   * validation, which uses the zod schemas. An implementation of `decode` can call `foldGoJson` to decode a provider
   * spec like Go.
   * @throws MachineError
   */
  decode?(input: DriverInput): DecodedInput<Spec, Credentials>;
  /** Checks a class and its Secret without a call to the cloud, and returns one sentence for each further problem. */
  check?(input: DecodedInput<Spec, Credentials> & { readonly secrets: string }): readonly string[];
  /**
   * The rules that apply alternatives to a provider spec. If `create` fails with `ResourceExhausted`, it must leave no
   * VM, because the next call may use an alternative.
   */
  readonly alternatives?: AlternativeRules<Spec>;
  /** Whether the driver limits the rate of its requests itself, with a `LearnedRate` for each account. */
  readonly spacesRequests?: boolean;
}

/** Defines a driver; TypeScript infers its types from its schemas. */
export const defineDriver = <Spec, Credentials>(
  definition: DriverDefinition<Spec, Credentials>,
): DriverDefinition<Spec, Credentials> => definition;
