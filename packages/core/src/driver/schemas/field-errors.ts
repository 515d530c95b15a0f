/**
 * Problems of fields in the words of Kubernetes's validation library (apimachinery `field.Error`), in the order of
 * discovery.
 */
export class FieldErrors {
  readonly #errors: string[] = [];

  required(path: string, detail: string): void {
    this.#errors.push(`${path}: Required value: ${detail}`);
  }

  invalid(path: string, value: unknown, detail: string): void {
    this.#errors.push(`${path}: Invalid value: ${JSON.stringify(value)}: ${detail}`);
  }

  unsupported(path: string, value: string, supported: readonly string[]): void {
    const known = supported.map((each) => JSON.stringify(each)).join(', ');
    this.#errors.push(`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${known}`);
  }

  forbidden(path: string, detail: string): void {
    this.#errors.push(`${path}: Forbidden: ${detail}`);
  }

  /** In the order of discovery. */
  get all(): readonly string[] {
    return this.#errors;
  }

  /** One problem as it is, several in brackets, equal ones once; undefined without a problem. */
  text(): string | undefined {
    const distinct = [...new Set(this.#errors)];
    return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct[0];
  }
}
