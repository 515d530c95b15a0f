import type { MachineClass } from '@mcm/api';
import {
  type DecodedInput,
  type DriverInput,
  FieldErrors,
  MachineError,
  readGoJson,
  specTypeProblems,
} from '@mcm/core/driver';
import { AzureCredentials, AzureProviderSpec } from './schemas.ts';
import { machineSetProblem, secretProblems, specProblems } from './validate.ts';

const PROVIDER = 'Azure';

const invalid = (message: string): MachineError => new MachineError('InvalidArgument', message);

/** Decodes the class and the Secret. The order and the texts of errors are those of the original. */
export function decode({ machineClass, data }: DriverInput): DecodedInput<AzureProviderSpec, AzureCredentials> {
  const spec = readSpec(machineClass);
  const credentials = AzureCredentials.parse(data);
  const missing = secretProblems(credentials);
  if (missing.length > 0)
    throw new MachineError('InvalidArgument', `error in validating secret: [${missing.join(' ')}]`, {
      place: 'secret',
    });
  return { spec, credentials };
}

/**
 * Reads a provider spec for calls that need no Secret.
 * @throws MachineError
 */
export function readSpec(machineClass: MachineClass): AzureProviderSpec {
  const { provider = '', providerSpec } = machineClass;
  if (provider !== PROVIDER) {
    const errors = new FieldErrors();
    const words = `Request for provider ${provider} cannot be fulfilled. Only ${PROVIDER} provider is supported.`;
    errors.invalid('provider', provider, words);
    throw invalid(`error validating provider ${errors.all.join(' ')}`);
  }
  const parsed = AzureProviderSpec.safeParse(readGoJson(AzureProviderSpec, providerSpec));
  if (!parsed.success) {
    const problems = specTypeProblems(providerSpec, parsed.error.issues);
    throw invalid(problems.join('; '));
  }
  const kind = machineSetProblem(parsed.data);
  if (kind !== undefined) throw invalid(`error while validation providerSpec.Properties.MachineSet: [${kind}]`);
  const spec = withMachineSet(parsed.data);
  const wrong = specProblems(spec);
  if (wrong.length > 0) throw invalid(`error in validation of AzureProviderSpec: [${wrong.join(' ')}]`);
  return spec;
}

/** Copies the deprecated field `machineSet` to the newer field with its meaning, unless the newer field is set. */
function withMachineSet(spec: AzureProviderSpec): AzureProviderSpec {
  const { properties = {} } = spec;
  const { machineSet, availabilitySet, virtualMachineScaleSet } = properties;
  if (!machineSet) return spec;
  const id = machineSet.id === undefined ? {} : { id: machineSet.id };
  return machineSet.kind === 'vmo'
    ? { ...spec, properties: { ...properties, virtualMachineScaleSet: virtualMachineScaleSet ?? id } }
    : { ...spec, properties: { ...properties, availabilitySet: availabilitySet ?? id } };
}
