import { UserDataPlaceholders } from '@mcm/api';
import { bytesOf } from '../driver/secrets/secret-value.ts';

export interface UserDataValues {
  readonly machineName: string;
  /** Without a target cluster, the token is undefined, and the placeholder stays in the user data. */
  readonly bootstrapToken?: string | undefined;
}

/** Returns true if the user data contains the placeholder of the token, in plain or URL-escaped form. */
export const asksForToken = (userData: Uint8Array): boolean => {
  const bytes = bytesOf(userData);
  const { BootstrapToken: plain, BootstrapTokenEscaped: escaped } = UserDataPlaceholders;
  return bytes.includes(plain) || bytes.includes(escaped);
};

const queryEscape = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/**
 * Replaces the plain placeholder. If the user data contains no plain placeholder, replaces the URL-escaped placeholder.
 */
function replacePlaceholder(userData: string, plain: string, escaped: string, value: string): string {
  if (userData.includes(plain)) return userData.replaceAll(plain, () => bytesOf(value).toString('latin1'));
  return userData.replaceAll(escaped, () => queryEscape(value));
}

/**
 * Replaces the placeholders of user data. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller/userdata.go.
 */
export function renderUserData(userData: Uint8Array, values: UserDataValues): Uint8Array {
  const p = UserDataPlaceholders;
  // The encoding latin1 maps each byte to one character, so bytes that are not valid UTF-8 stay unchanged.
  const text = bytesOf(userData).toString('latin1');
  const withToken =
    values.bootstrapToken === undefined
      ? text
      : replacePlaceholder(text, p.BootstrapToken, p.BootstrapTokenEscaped, values.bootstrapToken);
  const rendered = replacePlaceholder(withToken, p.MachineName, p.MachineNameEscaped, values.machineName);
  return rendered === text ? userData : Buffer.from(rendered, 'latin1');
}
