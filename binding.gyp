{
  # What contributors and source installs build: the addon, the native test binary and the test fixtures. Release
  # binaries come from the same file through scripts/prebuild-linux.sh.
  'variables': {
    # 1: the addon alone, as scripts/prebuild-linux.sh asks for it.
    'release%': 0,
    'core_sources': [
      "<!@(node scripts/native-sources.mjs core)"
    ]
  },
  'target_defaults': {
    # Not -O3, as Node's common.gypi has it: it nearly doubles the addon.
    'cflags!': ['-O3'],
    'cflags': ['-O2', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections', '-Wall', '-Wextra'],
    # Node's common.gypi brings its own -std. A '!' list also removes what the same scope adds, so nothing that
    # cflags_cc adds may stand here.
    'cflags_cc!': ['-std=gnu++17', '-std=gnu++20'],
    # -Wno-restrict: gcc 12 sees overlaps in std::string that are not there (gcc bug 105651).
    'cflags_cc': ['-std=c++20', '-Wno-restrict', '-fno-exceptions', '-fno-rtti', '-fno-threadsafe-statics', '-fvisibility-inlines-hidden'],
    'xcode_settings': {
      'CLANG_CXX_LANGUAGE_STANDARD': 'c++20',
      'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
      'GCC_ENABLE_CPP_EXCEPTIONS': 'NO',
      'GCC_ENABLE_CPP_RTTI': 'NO',
      'MACOSX_DEPLOYMENT_TARGET': '11.0'
    }
  },
  'targets': [
    {
      'target_name': 'core',
      'type': 'static_library',
      'cflags': ['-fPIC'],
      'sources': ['<@(core_sources)']
    },
    {
      # The code between clone and exec, apart: it may contain no call that the compiler puts in by itself.
      'target_name': 'child_side',
      'type': 'static_library',
      'conditions': [
        ['OS=="linux"', {
          'sources': ['native/core/child.cpp'],
          'cflags': ['-fPIC', '-O2', '-fno-stack-protector', '-fno-builtin', '-U_FORTIFY_SOURCE']
        }, {
          'type': 'none'
        }]
      ]
    },
    {
      'target_name': 'exactspawn',
      'sources': ["<!@(node scripts/native-sources.mjs binding)"],
      'include_dirs': ['native/core'],
      'dependencies': [
        'core',
        'child_side',
        "<!(node -p \"require('node-addon-api').targets\"):node_addon_api"
      ],
      'defines': ['NAPI_VERSION=8', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
      'conditions': [
        ['OS=="linux"', {
          'sources': ['native/runtime/cxx_runtime.cpp'],
          'ldflags': [
            '-nodefaultlibs',
            '-Wl,--gc-sections',
            '-Wl,-z,relro,-z,now',
            '-Wl,-z,nodelete',
            '-Wl,--version-script=<(module_root_dir)/native/runtime/exports.map'
          ],
          'libraries': ['-lc', '-lgcc']
        }]
      ]
    }
  ],
  'conditions': [
    ['OS=="linux"', {
      'target_defaults': {
        'cflags_cc': ['-include', '<(module_root_dir)/native/runtime/glibc_floor.h']
      }
    }],
    ['release==0', {
      'targets': [
        {
          'target_name': 'native_test',
          'type': 'executable',
          'sources': ["<!@(node scripts/native-sources.mjs test)"],
          'include_dirs': ['native/core'],
          'dependencies': ['core', 'child_side'],
          'libraries': ['-lpthread']
        },
        {
          'target_name': 'fixture_child',
          'type': 'executable',
          'cflags_c': ['-std=c11', '-D_GNU_SOURCE'],
          'sources': ["<!@(node scripts/native-sources.mjs fixture-child)"]
        },
        {
          # Not called .node: node-gyp-build takes the first such file beside the addon.
          'target_name': 'fixture_reaper',
          # A late condition, as node-gyp's own that names it .node: of two the last one counts.
          'target_conditions': [['_type=="loadable_module"', {'product_extension': 'addon'}]],
          'cflags_c': ['-std=c11', '-D_GNU_SOURCE'],
          'sources': ['fixtures/reaper.c'],
          'defines': ['NAPI_VERSION=8']
        }
      ]
    }],
    ['release==0 and OS=="linux"', {
      'targets': [
        {
          'target_name': 'fixture_denysys',
          'type': 'executable',
          'cflags_c': ['-std=c11', '-D_GNU_SOURCE'],
          'sources': ['fixtures/denysys.c']
        }
      ]
    }]
  ]
}
