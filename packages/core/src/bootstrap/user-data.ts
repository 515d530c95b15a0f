import { UserDataPlaceholders } from '@mcm/api';
import { bytesOf } from '../driver/secrets/secret-value.ts';

/** Values of the placeholders in user data. */
export interface UserDataValues {
  readonly machineName: string;
  /** `<id>.<secret>`; absent without a target cluster: the placeholder stays. */
  readonly bootstrapToken?: string | undefined;
}

/** Returns true if the user data contains the token placeholder, in either form. */
export const asksForToken = (userData: Uint8Array): boolean => {
  const bytes = bytesOf(userData);
  const { BootstrapToken: plain, BootstrapTokenEscaped: escaped } = UserDataPlaceholders;
  return bytes.includes(plain) || bytes.includes(escaped);
};

/** Like Go's `url.QueryEscape`. */
const queryEscape = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/** The plain form takes precedence. The escaped form counts only without the plain one. */
function replacePlaceholder(userData: string, plain: string, escaped: string, value: string): string {
  if (userData.includes(plain)) return userData.replaceAll(plain, () => bytesOf(value).toString('latin1'));
  return userData.replaceAll(escaped, () => queryEscape(value));
}

/**
 * Replaces the placeholders of user data. Values without a placeholder are unused. A placeholder without a value stays,
 * and so does every other byte. Source: machine-controller-manager, pkg/util/provider/machinecontroller/userdata.go.
 */
export function renderUserData(userData: Uint8Array, values: UserDataValues): Uint8Array {
  const p = UserDataPlaceholders;
  // In this encoding each byte is one character, so that all other bytes stay as they are.
  const text = bytesOf(userData).toString('latin1');
  const withToken =
    values.bootstrapToken === undefined
      ? text
      : replacePlaceholder(text, p.BootstrapToken, p.BootstrapTokenEscaped, values.bootstrapToken);
  const rendered = replacePlaceholder(withToken, p.MachineName, p.MachineNameEscaped, values.machineName);
  return rendered === text ? userData : Buffer.from(rendered, 'latin1');
}
