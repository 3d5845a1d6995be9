import js from '@eslint/js';
import jupyter from '@jupyter/eslint-plugin';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['lib/', 'node_modules/', 'src/protocol.ts']),
  js.configs.recommended,
  { plugins: { jupyter } },
  jupyter.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { process: 'readonly', URL: 'readonly' } }
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [
      tseslint.configs.strictTypeChecked,
      tseslint.configs.stylisticTypeChecked
    ],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true }
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true }
      ],
      // All are needed at once: they hold the panel's state, listen to the page, see each editor and output.
      'jupyter/prefer-lazy-imports': [
        'warn',
        {
          ignoreImports: [
            './lab/cells/marking',
            './lab/commands/commands',
            './lab/commands/requests',
            './lab/outputs',
            './lab/panel/panel',
            './lab/tracker'
          ]
        }
      ],
      // Signals are connected as connect(this._onFoo, this).
      '@typescript-eslint/unbound-method': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 300 }],
      'no-console': ['error', { allow: ['error', 'warn'] }]
    }
  },
  {
    // The views and the feed know no host: two thin hosts mount them.
    files: ['src/views/**', 'src/feed/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['@jupyterlab/*', '@jupyter/*', '@lumino/*', '@anywidget/*'],
              message: 'Views and feed know no host.'
            }
          ]
        }
      ]
    }
  }
);
