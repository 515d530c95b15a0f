import { UserError } from '../command/errors.ts';

/** A provider's name in the forms that code and documents want. */
export interface ProviderName {
  /** `hetzner-cloud`: in package names, binaries and provider ids. */
  readonly plain: string;
  /** `HetznerCloud`: in identifiers. */
  readonly pascal: string;
}

const RULE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const LONGEST = 30;

/** @throws UserError that says what a name must be */
export function providerName(plain: string): ProviderName {
  if (!RULE.test(plain) || plain.length > LONGEST)
    throw new UserError(
      `"${plain}" cannot be a provider's name: write lower-case letters, digits and single dashes, beginning with a letter, at most ${LONGEST} of them`,
    );
  const pascal = plain.replace(/(^|-)([a-z0-9])/g, (_, _dash: string, letter: string) => letter.toUpperCase());
  return { plain, pascal };
}
