import type { Machine, MachineClass } from '@mcm/api';
import type { z } from 'zod';
import type { Driver } from '../contract/driver.ts';

/** The driver's methods that are told a class and its Secrets. */
export type DriverCall = 'create' | 'initialize' | 'status' | 'delete' | 'list' | 'evidence';

/** What a class and its Secrets say, before it is known to make sense. */
export interface DriverInput {
  readonly call: DriverCall;
  readonly machineClass: MachineClass;
  /** The machine of the call; absent for a listing. */
  readonly machine?: Machine;
  /** Merged, decoded data of the class's Secrets. */
  readonly data: Readonly<Record<string, string>>;
}

/** The same as the driver's own types. */
export interface DecodedInput<Spec, Credentials> {
  readonly spec: Spec;
  readonly credentials: Credentials;
}

/** A driver with the schemas that its requests are parsed by. */
export interface DriverDefinition<Spec, Credentials> extends Driver<Spec, Credentials> {
  /** Schema of `MachineClass.providerSpec`. */
  readonly providerSpec: z.ZodType<Spec>;
  /** Schema of the merged, decoded data of `secretRef` and `credentialsSecretRef`, `userData` included. */
  readonly credentialsSchema: z.ZodType<Credentials>;
  /**
   * In place of parsing by the schemas, for a driver with rules, texts or codes of its own; `foldGoJson` reads a provider
   * spec as Go reads it. Called before every call to the cloud.
   * @throws MachineError
   */
  decode?(input: DriverInput): DecodedInput<Spec, Credentials>;
  /**
   * What else is wrong with a class and its Secret that can be told without the cloud, one sentence each: told on the class
   * before any VM is asked for. Absent: nothing.
   * @param input.secrets The class's Secrets by their names, `Secret n/a`, to be named in the sentence.
   */
  check?(input: DecodedInput<Spec, Credentials> & { readonly secrets: string }): readonly string[];
  /**
   * The driver spaces its requests itself, with a `LearnedRate` for each account. Absent: its calls are spaced, by the
   * errors that it throws (`MachineError.throttled`).
   */
  readonly spacesRequests?: boolean;
}

/** Declares a driver: its types follow from its schemas. */
export const defineDriver = <Spec, Credentials>(
  definition: DriverDefinition<Spec, Credentials>,
): DriverDefinition<Spec, Credentials> => definition;
