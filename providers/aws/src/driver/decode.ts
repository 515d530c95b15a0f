import type { MachineClass } from '@mcm/api';
import { type DecodedInput, type DriverInput, MachineError, readGoJson, specTypeProblems } from '@mcm/core/driver';
import { AwsCredentials, AwsProviderSpec } from '../spec/schemas.ts';
import { validate } from './validate.ts';

const PROVIDER = 'AWS';

/**
 * Checks the provider spec and the Secret of a class. The order, the codes and the texts of the errors are those of the
 * original:
 * - another provider: `InvalidArgument` (`initialize` does not check the provider)
 * - a value of a wrong type: `Internal`
 * - a violated rule: `InvalidArgument`
 */
export function decode({ call, machineClass, data }: DriverInput): DecodedInput<AwsProviderSpec, AwsCredentials> {
  if (call !== 'initialize') refuseOtherProvider(machineClass);
  const credentials = AwsCredentials.parse(data);
  const { secretRef, credentialsSecretRef } = machineClass;
  const isNone = !secretRef && !credentialsSecretRef && Object.keys(data).length === 0;
  return { spec: validated(machineClass, isNone ? 'none' : credentials), credentials };
}

/**
 * Parses a provider spec with the rules that apply before a creation.
 * @throws MachineError
 */
export function readSpec(machineClass: MachineClass): AwsProviderSpec {
  refuseOtherProvider(machineClass);
  return validated(machineClass, undefined);
}

function refuseOtherProvider({ provider = '' }: MachineClass): void {
  if (provider !== PROVIDER)
    throw new MachineError('InvalidArgument', `requested for Provider '${provider}', we only support '${PROVIDER}'`);
}

function validated({ providerSpec }: MachineClass, credentials: AwsCredentials | 'none' | undefined): AwsProviderSpec {
  const spec = AwsProviderSpec.safeParse(readGoJson(AwsProviderSpec, providerSpec));
  if (!spec.success) {
    const problems = specTypeProblems(providerSpec, spec.error.issues);
    throw new MachineError('Internal', problems.join('; '));
  }
  const problem = validate(spec.data, credentials);
  if (problem) throw new MachineError('InvalidArgument', problem.text, problem.ofSecret ? { place: 'secret' } : {});
  return spec.data;
}
